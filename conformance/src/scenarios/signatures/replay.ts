import { randomBytes } from 'node:crypto';
import { randomToken } from '@svault/shared';
import type { Capability } from '@svault/shared/schemas';
import type { Check, WebhookCheck } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { SignatureDeviation } from '../../forge/signature.ts';
import type { Tools } from '../../check/tools.ts';
import { HEALTH, now, withBody } from './signed-requests.ts';

/** How often one request is sent at once. */
const AT_ONCE = 10;

const spent = (tools: Tools, nonce: string): Promise<unknown> =>
  tools.signed(HEALTH, { nonce }).then((answer) => expectOk(answer));

/**
 * A check that an endpoint shares its nonces with the others.
 * @param body asks for a record that there is not: what matters is that the signature was taken
 */
function sharesNonces(
  claim: Capability,
  path: `/v1/${string}`,
  body: (name: string) => object,
): WebhookCheck {
  return {
    id: `replay.at-${path.slice('/v1/'.length)}`,
    title: `a nonce that was used is refused at ${path}, and one that was used there is refused elsewhere`,
    requirements: ['SIG-54'],
    claims: [claim],
    run: async (tools) => {
      const request = { method: 'POST', path, body: JSON.stringify(body(tools.freshName())) } as const;
      const [before, fresh] = [randomToken(), randomToken()];
      await spent(tools, before);
      const again = await tools.signed(request, { nonce: before });
      expectRefusal(again, 'SIGNATURE_INVALID', 'the nonce of a request to /v1/health');
      expectRefusal(await tools.signed(request, { nonce: fresh }), 'NOT_FOUND', 'a fresh nonce');
      const elsewhere = await tools.signed(HEALTH, { nonce: fresh });
      expectRefusal(elsewhere, 'SIGNATURE_INVALID', `/v1/health, under the nonce of a request to ${path}`);
    },
  };
}

/** Protocol section 3.3: each nonce once. */
export const REPLAY_CHECKS: readonly Check[] = [
  {
    id: 'signature.replayed',
    title: 'the same signed request is accepted once',
    requirements: ['SIG-54'],
    run: async (tools) =>
      eachVariant({ 'with a body': withBody(tools), 'without a body': HEALTH }, async (request) => {
        const ready = tools.sign(request);
        expectOk(await tools.send(ready));
        expectRefusal(await tools.send(ready), 'SIGNATURE_INVALID');
        expectRefusal(await tools.send(ready), 'SIGNATURE_INVALID');
      }),
  },
  {
    id: 'replay.at-once',
    title: 'the same signed request, sent ten times at once, is accepted once',
    requirements: ['SIG-54', 'SIG-56'],
    run: async ({ send, sign }) => {
      const request = sign(HEALTH);
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => send(request)));
      const [accepted, ...again] = answers.filter(({ status }) => status === 200);
      for (const answer of again) expectThat(false, answer, '401: the request was accepted already');
      for (const answer of answers) if (answer !== accepted) expectRefusal(answer, 'SIGNATURE_INVALID');
      const [first] = answers;
      if (first !== undefined && accepted === undefined) expectThat(false, first, '200 for one of the ten');
    },
  },
  {
    id: 'replay.used-nonce',
    title: 'a nonce that was used is refused with whatever else the request says',
    requirements: ['SIG-54'],
    run: async (tools) => {
      const nonce = randomToken();
      await spent(tools, nonce);
      const attempts: Readonly<Record<string, SignatureDeviation>> = {
        'other times': { created: now() - 5, expires: now() + 20 },
        'parameters in another order': {
          parameters: (right) => `;${right.slice(1).split(';').toReversed().join(';')}`,
        },
        'components in another order': { components: ['@query', '@path', '@authority', '@method'] },
      };
      await eachVariant(attempts, async (deviation) =>
        expectRefusal(await tools.signed(HEALTH, { nonce, ...deviation }), 'SIGNATURE_INVALID'),
      );
      expectRefusal(await tools.signed(withBody(tools), { nonce }), 'SIGNATURE_INVALID', 'another request');
    },
  },
  sharesNonces('refresh-notify', '/v1/refresh-notify', (serviceName) => ({ serviceName, reason: 'expired' })),
  sharesNonces('sv-refresh', '/v1/refresh', (serviceName) => ({ phase: 'get', serviceName })),
  {
    id: 'replay.after-expiry',
    title:
      'a nonce is remembered as long as its request could be accepted, for 30 seconds after it expired too',
    requirements: ['SIG-55'],
    run: async ({ send, sign }) => {
      const late = sign(HEALTH, { created: now() - 80, expires: now() - 24 });
      expectOk(await send(late));
      expectRefusal(await send(late), 'SIGNATURE_INVALID');
      const ahead = sign(HEALTH, { created: now() + 25, expires: now() + 85 });
      expectOk(await send(ahead));
      expectRefusal(await send(ahead), 'SIGNATURE_INVALID', 'a request of a clock that is ahead');
    },
  },
  {
    id: 'replay.other-nonce',
    title: 'nonces that differ in one letter, or in its case, are two',
    requirements: ['SIG-54', 'SIG-50'],
    run: async (tools) => {
      const long = randomToken(48).slice(1);
      const small = randomToken(16).toLowerCase();
      await spent(tools, `${long}A`);
      await eachVariant(
        {
          'the last of 64 characters': `${long}B`,
          'the letter case': small,
          'the other letter case': small.toUpperCase(),
        },
        (nonce) => spent(tools, nonce),
      );
    },
  },
  {
    id: 'replay.refused-nonce',
    title: 'a request that is refused for its MAC, its times or its digest does not use its nonce up',
    requirements: ['SIG-57'],
    run: async (tools) => {
      const request = withBody(tools);
      const { target, sign, signed, send } = tools;
      const key = { id: target.key.id, secret: randomBytes(32) };
      const attempts = {
        'the MAC': (nonce: string) => signed(request, { nonce, key }),
        'the times': (nonce: string) =>
          signed(request, { nonce, created: now() - 200, expires: now() - 140 }),
        'the digest': (nonce: string) => send({ ...sign(request, { nonce }), body: '[]' }),
      };
      await eachVariant(attempts, async (attempt) => {
        const nonce = randomToken();
        expectRefusal(await attempt(nonce), 'SIGNATURE_INVALID');
        await spent(tools, nonce);
      });
    },
  },
  {
    id: 'replay.before-the-body',
    title: 'a nonce is used up before the body is read, so that a refused body cannot be sent again',
    requirements: ['SIG-57'],
    claims: ['storage'],
    run: async (tools) => {
      const nonce = randomToken();
      const broken = { method: 'POST', path: '/v1/storage', body: '{"op":' } as const;
      expectRefusal(await tools.signed(broken, { nonce }), 'INVALID_REQUEST');
      expectRefusal(await tools.signed(HEALTH, { nonce }), 'SIGNATURE_INVALID');
    },
  },
];
