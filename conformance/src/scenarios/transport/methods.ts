import type { Capability } from '@svault/shared/schemas';
import { randomToken } from '@svault/shared';
import type { WebhookCheck } from '../../check/check.ts';
import { variantsAtOnce } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { HEALTH } from '../signatures/signed-requests.ts';

interface Endpoint {
  readonly id: string;
  readonly path: string;
  /** The methods it has (protocol section 5). */
  readonly allow: readonly string[];
  /** Methods that it has not. */
  readonly others: readonly string[];
  readonly claims?: readonly Capability[];
}

/** Methods that this page names nowhere, or not there. `OPTIONS` is left out where preflights come. */
const ENDPOINTS: readonly Endpoint[] = [
  { id: 'health', path: '/v1/health', allow: ['GET', 'POST'], others: ['PUT', 'HEAD', 'DELETE', 'OPTIONS'] },
  { id: 'exchange', path: '/v1/exchange', allow: ['POST'], others: ['GET', 'HEAD', 'PUT', 'OPTIONS'] },
  {
    id: 'storage',
    path: '/v1/storage',
    allow: ['POST'],
    others: ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'],
    claims: ['storage'],
  },
  {
    id: 'credential',
    path: '/v1/credential',
    allow: ['GET'],
    others: ['POST', 'PUT', 'DELETE', 'OPTIONS'],
    claims: ['credential'],
  },
  {
    id: 'store',
    path: '/v1/store',
    allow: ['POST'],
    others: ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'],
    claims: ['store'],
  },
  {
    id: 'proxy',
    path: '/v1/proxy',
    allow: ['POST'],
    others: ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'],
    claims: ['proxy'],
  },
  {
    id: 'refresh-notify',
    path: '/v1/refresh-notify',
    allow: ['POST'],
    others: ['GET', 'HEAD', 'PUT'],
    claims: ['refresh-notify'],
  },
  {
    id: 'refresh',
    path: '/v1/refresh',
    allow: ['POST'],
    others: ['GET', 'HEAD', 'PUT'],
    claims: ['sv-refresh'],
  },
  {
    id: 'approvals',
    path: '/v1/approvals',
    allow: ['POST'],
    others: ['GET', 'HEAD', 'PUT', 'DELETE'],
    claims: ['approvals'],
  },
];

const refusesOther = ({ id, path, allow, others, claims }: Endpoint): WebhookCheck => ({
  id: `method.${id}`,
  title: `${path} answers 405 to other methods than ${allow.join(' and ')}, and names what is allowed`,
  requirements: ['TRN-31', 'TRN-33'],
  ...(claims !== undefined && { claims }),
  run: ({ send }) =>
    variantsAtOnce(Object.fromEntries(others.map((each) => [each, each])), async (method) =>
      expectNotAllowed(await send({ method, path }), method, allow),
    ),
});

/** 405, with a body where the method has one, and with what is allowed instead. */
function expectNotAllowed(answer: Answer, method: string, allow: readonly string[]): void {
  if (method === 'HEAD') expectThat(answer.status === 405, answer, '405');
  else expectRefusal(answer, 'METHOD_NOT_ALLOWED');
  const named = answer.headers
    .filter(([name]) => name === 'allow')
    .flatMap(([, value]) => value.split(','))
    .map((each) => each.trim());
  expectThat(
    allow.every((each) => named.includes(each)) && !named.includes(method),
    answer,
    `Allow: ${allow.join(', ')}`,
  );
}

/** Protocol section 2: methods not named answer 405, HEAD included, and use up nothing. */
export const METHOD_CHECKS: readonly WebhookCheck[] = [
  ...ENDPOINTS.map(refusesOther),
  {
    id: 'method.head',
    title: 'HEAD /v1/credential answers 405 and leaves the ticket good',
    requirements: ['TRN-31', 'TRN-32'],
    claims: ['credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const ticket = tools.ticket('credential', name);
      const head = await tools.send({ method: 'HEAD', path: `/v1/credential?ticket=${ticket}` });
      expectThat(head.status === 405, head, '405');
      expectOk(await tools.fetchCredential(ticket));
    },
  },
  {
    id: 'method.keeps-tickets',
    title: 'a method that is not allowed leaves a ticket good',
    requirements: ['TRN-32'],
    claims: ['credential'],
    run: async (tools) => {
      const ticket = tools.ticket('credential', tools.freshName());
      for (const method of ['POST', 'OPTIONS', 'DELETE']) {
        const answer = await tools.send({ method, path: `/v1/credential?ticket=${ticket}` });
        expectRefusal(answer, 'METHOD_NOT_ALLOWED', method);
      }
      expectRefusal(await tools.fetchCredential(ticket), 'NOT_FOUND');
    },
  },
  {
    id: 'method.keeps-store-tickets',
    title: 'a method that is not allowed at /v1/store leaves a ticket good, and stores nothing',
    requirements: ['TRN-32'],
    claims: ['store'],
    run: async (tools) => {
      const name = tools.freshName();
      const claims = { jti: randomToken(), ifv: 0 };
      const headers = [
        ['authorization', `Bearer ${tools.ticket('store', name, { claims })}`],
        ['content-type', 'application/json'],
      ] as const;
      const body = { tokenType: 'PlainText', value: 'x' };
      for (const method of ['PUT', 'PATCH']) {
        const answer = await tools.send({ method, path: '/v1/store', headers, body: JSON.stringify(body) });
        expectRefusal(answer, 'METHOD_NOT_ALLOWED', method);
      }
      expectOk(await tools.store(name, body, { claims }));
    },
  },
  {
    id: 'method.keeps-nonces',
    title: 'a method that is not allowed leaves a nonce good',
    requirements: ['TRN-32'],
    run: async (tools) => {
      const nonce = randomToken();
      for (const method of ['PUT', 'DELETE'])
        expectRefusal(await tools.signed({ ...HEALTH, method }, { nonce }), 'METHOD_NOT_ALLOWED', method);
      expectOk(await tools.signed(HEALTH, { nonce }));
    },
  },
];
