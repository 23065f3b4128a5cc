import type { Check } from '../check.ts';
import { expectOk, expectRefusal, expectThat } from '../expect.ts';
import { header } from '../http/read-answer.ts';

/** Endpoint → the methods it has (protocol section 5), and one that it has not. */
const ENDPOINTS = [
  { id: 'health', path: '/v1/health', allow: ['GET', 'POST'], other: 'PUT' },
  { id: 'exchange', path: '/v1/exchange', allow: ['POST'], other: 'GET' },
  { id: 'storage', path: '/v1/storage', allow: ['POST'], other: 'GET' },
  { id: 'credential', path: '/v1/credential', allow: ['GET'], other: 'POST' },
  { id: 'store', path: '/v1/store', allow: ['POST'], other: 'GET' },
] as const;

const refusesOther: readonly Check[] = ENDPOINTS.map(({ id, path, allow, other }) => ({
  id: `method.${id}`,
  title: `${other} ${path} answers 405 and names what is allowed`,
  requirements: ['TRN-31'],
  run: async ({ send }) => {
    const answer = await send({ method: other, path });
    expectRefusal(answer, 'METHOD_NOT_ALLOWED');
    const named = (header(answer, 'allow') ?? '').split(',').map((each) => each.trim());
    expectThat(
      allow.every((each) => named.includes(each)) && !named.includes(other),
      answer,
      `Allow: ${allow.join(', ')}`,
    );
  },
}));

/** Protocol section 2: methods not named answer 405, HEAD included, and use up nothing. */
export const METHOD_CHECKS: readonly Check[] = [
  ...refusesOther,
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
];
