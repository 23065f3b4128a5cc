import { randomBytes } from 'node:crypto';
import { randomToken } from '@svault/shared';
import type { Check } from '../check.ts';
import { expectOk, expectRefusal, expectThat } from '../expect.ts';
import type { SignatureDeviation } from '../forge/signature.ts';
import { sameOutside } from '../same-outside.ts';

const health = { method: 'POST', path: '/v1/health' } as const;
const list = { method: 'POST', path: '/v1/storage', body: '{"op":"tokens.list","limit":1}' } as const;
const now = (): number => Math.floor(Date.now() / 1000);

/** A check that a signature with one deviation, made with the right key, is refused. */
function refused(
  id: string,
  title: string,
  requirements: Check['requirements'],
  deviation: () => SignatureDeviation,
  request: { method: string; path: string; body?: string } = list,
): Check {
  return {
    id: `signature.${id}`,
    title,
    requirements,
    run: async ({ signed }) => expectRefusal(await signed(request, deviation()), 'SIGNATURE_INVALID'),
  };
}

/** A check that a signature at the edge of what is allowed is accepted. */
function accepted(
  id: string,
  title: string,
  requirements: Check['requirements'],
  deviation: () => SignatureDeviation,
): Check {
  return {
    id: `signature.${id}`,
    title,
    requirements,
    run: async ({ signed }) => {
      expectOk(await signed(health, deviation()));
    },
  };
}

/** Protocol section 3. */
export const SIGNATURE_CHECKS: readonly Check[] = [
  {
    id: 'signature.missing',
    title: 'a request without signature headers is refused',
    requirements: ['SIG-26'],
    run: async ({ send }) => {
      const headers = [['content-type', 'application/json']] as const;
      expectRefusal(await send({ ...list, headers }), 'SIGNATURE_INVALID');
    },
  },
  refused('wrong-key', 'a MAC by another key under the right key id is refused', ['SIG-44'], () => ({
    key: { id: 'key-that-is-not-bound', secret: randomBytes(32) },
  })),
  {
    id: 'signature.forged-mac',
    title: 'a MAC by another key under the bound key id is refused',
    requirements: ['SIG-45'],
    run: async ({ signed, target }) => {
      const key = { id: target.key.id, secret: randomBytes(32) };
      expectRefusal(await signed(list, { key }), 'SIGNATURE_INVALID');
    },
  },
  {
    id: 'signature.tampered-body',
    title: 'a body that differs from the signed digest is refused',
    requirements: ['SIG-52'],
    run: async ({ send, sign }) => {
      const body = list.body.replace('1}', '2}');
      expectRefusal(await send({ ...sign(list), body }), 'SIGNATURE_INVALID');
    },
  },
  {
    id: 'signature.tampered-method-path',
    title: 'a signature for one endpoint is refused at another',
    requirements: ['SIG-15'],
    run: async ({ send, sign }) => {
      const request = sign({ ...list, path: '/v1/health' });
      expectRefusal(await send({ ...request, path: list.path }), 'SIGNATURE_INVALID');
    },
  },
  refused(
    'uncovered-digest',
    'a body whose digest the signature does not cover is refused',
    ['SIG-02'],
    () => ({
      components: ['@method', '@authority', '@path', '@query', 'content-type'],
    }),
  ),
  refused('uncovered-method', 'a signature that does not cover the method is refused', ['SIG-05'], () => ({
    components: ['@authority', '@path', '@query', 'content-type', 'content-digest'],
  })),
  refused('other-authority', 'a signature made for another authority is refused', ['SIG-12'], () => ({
    authority: 'another.example',
  })),
  refused('other-label', 'a signature under another label than sv is refused', ['SIG-27', 'SIG-33'], () => ({
    label: 'sig1',
  })),
  refused('other-tag', 'a signature with another tag is refused', ['SIG-32', 'SIG-33'], () => ({
    tag: 'sv-webhook-v2',
  })),
  refused(
    'other-algorithm',
    'a signature that names another algorithm is refused',
    ['SIG-31', 'SIG-33'],
    () => ({
      alg: 'hmac-sha512',
    }),
  ),
  refused('expired', 'a request that expired more than 30 seconds ago is refused', ['SIG-49'], () => ({
    created: now() - 100,
    expires: now() - 40,
  })),
  refused('from-the-future', 'a request created more than 30 seconds ahead is refused', ['SIG-48'], () => ({
    created: now() + 45,
  })),
  refused('long-lived', 'a request that would live longer than 60 seconds is refused', ['SIG-47'], () => ({
    expires: now() + 61,
    created: now(),
  })),
  refused('short-nonce', 'a nonce of fewer than 22 characters is refused', ['SIG-35'], () => ({
    nonce: randomToken(16).slice(0, 21),
  })),
  refused('with-query', 'a signed request with a query is refused', ['SIG-18'], () => ({}), {
    method: 'POST',
    path: '/v1/health?x=1',
  }),
  accepted('slow-clock', 'a service whose clock is 25 seconds ahead is accepted', ['SIG-50'], () => ({
    created: now() + 25,
  })),
  accepted('late-arrival', 'a request that expired 25 seconds ago is accepted', ['SIG-50'], () => ({
    created: now() - 80,
    expires: now() - 25,
  })),
  accepted('any-order', 'covered components may stand in any order', ['SIG-22'], () => ({
    components: ['@query', '@path', '@authority', '@method'],
  })),
  {
    id: 'signature.replayed',
    title: 'the same signed request is accepted once',
    requirements: ['SIG-54'],
    run: async ({ send, sign }) => {
      const request = sign(list);
      expectOk(await send(request));
      expectRefusal(await send(request), 'SIGNATURE_INVALID');
    },
  },
  {
    id: 'signature.doubled',
    title: 'a signature header that occurs twice is refused',
    requirements: ['SIG-26'],
    run: async ({ send, sign }) => {
      const request = sign(list);
      const { headers = [] } = request;
      const doubled = [...headers, ...headers.filter(([name]) => name === 'signature')];
      expectRefusal(await send({ ...request, headers: doubled }), 'SIGNATURE_INVALID');
    },
  },
  {
    id: 'signature.uniform',
    title: 'every refusal of a signature is the same bytes',
    requirements: ['SIG-58'],
    run: async ({ signed, target }) => {
      const wrongKey = await signed(list, { key: { id: target.key.id, secret: randomBytes(32) } });
      for (const deviation of [
        { created: now() - 200 },
        { tag: 'x' },
        { key: { id: 'x', secret: randomBytes(32) } },
      ]) {
        const other = await signed(list, deviation);
        expectThat(sameOutside(wrongKey, other), other, 'the bytes that a wrong MAC is answered with');
      }
    },
  },
];
