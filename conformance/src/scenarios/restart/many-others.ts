import type { WebhookCheck } from '../../check/check.ts';
import { expectOk, expectRefusal } from '../../check/expect.ts';
import type { Answer, RequestToSend } from '../../http/client.ts';
import type { Tools } from '../../check/tools.ts';

/** More than a memory of a few hundred holds. */
const OTHERS = 300;
/** Few enough for a server that queues five connections and serves one. */
const AT_ONCE = 4;

/** Sends a request, many others that use something up too, and the request once more. @returns the last answer */
async function againAfter(
  tools: Tools,
  request: RequestToSend,
  other: () => Promise<Answer>,
): Promise<Answer> {
  expectOk(await tools.send(request));
  for (let sent = 0; sent < OTHERS; sent += AT_ONCE)
    for (const answer of await Promise.all(Array.from({ length: AT_ONCE }, other))) expectOk(answer);
  return tools.send(request);
}

/** Protocol sections 3.3 and 4: what was used up is known by its time, and not by how many came after it. */
export const MANY_OTHERS_CHECKS: readonly WebhookCheck[] = [
  {
    id: 'replay.after-many-others',
    title: `a nonce that was used is refused after ${OTHERS} others were`,
    requirements: ['SIG-55', 'SIG-54'],
    run: async (tools) => {
      const health = { method: 'POST', path: '/v1/health' };
      const again = await againAfter(tools, tools.sign(health), () => tools.signed(health));
      expectRefusal(again, 'SIGNATURE_INVALID');
    },
  },
  {
    id: 'ticket.used-before-many-others',
    title: `a ticket that was used is refused after ${OTHERS} others were`,
    requirements: ['TIX-35', 'TIX-32'],
    claims: ['credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const path = (): string => `/v1/credential?ticket=${tools.ticket('credential', name)}`;
      const again = await againAfter(tools, { method: 'GET', path: path() }, () =>
        tools.send({ method: 'GET', path: path() }),
      );
      expectRefusal(again, 'TICKET_INVALID');
    },
  },
];
