import { randomToken } from '@svault/shared';
import type { HeaderPairs } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { deliveredIn, expectDelivered } from '../../check/delivered.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { text } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';

/** Headers that clients send along when they follow the 307 to the webhook, with a key of the service's. */
function strayHeaders(): readonly (readonly [string, string])[] {
  const key = `svagent_${randomToken(32)}`;
  return [
    ['authorization', `Bearer ${key}`],
    ['authorization', `Basic ${Buffer.from(`agent:${key}`).toString('base64')}`],
    ['x-agent-key', key],
    ['x-mcp-key', key],
  ];
}

const byBearer = (tools: Tools, ticket: string, headers: HeaderPairs = []): Promise<Answer> =>
  tools.send({
    method: 'GET',
    path: '/v1/credential',
    headers: [['authorization', `Bearer ${ticket}`], ...headers],
  });

/** Protocol sections 4 and 5.4: how a ticket comes to `/v1/credential`, and what it has to say there. */
export const CREDENTIAL_TICKET_CHECKS: readonly Check[] = [
  {
    id: 'credential.ticket-as-bearer',
    title: 'the ticket is accepted as a bearer token too, and is used up by that',
    requirements: ['CRE-04'],
    claims: ['credential'],
    run: async (tools) => {
      const { name, value } = await tools.given.text();
      const ticket = tools.ticket('credential', name);
      const { answer, token } = deliveredIn(await byBearer(tools, ticket));
      expectThat(token['accessToken'] === value, answer, 'the credential');
      expectRefusal(await tools.fetchCredential(ticket), 'TICKET_INVALID', 'the same ticket in the query');
    },
  },
  {
    id: 'credential.stray-key',
    title: 'a key that a client sends along with its ticket is ignored, and not said back',
    requirements: ['CRE-05'],
    claims: ['credential'],
    run: async (tools) => {
      const { name, value } = await tools.given.text();
      const strays = strayHeaders();
      for (const headers of [...strays.map((each) => [each]), strays.slice(1)]) {
        const names = headers.map(([each]) => each).join(', ');
        const answer = await tools.fetchCredential(tools.ticket('credential', name), headers);
        const { token } = deliveredIn(answer, `a ticket beside ${names}`);
        expectThat(token['accessToken'] === value, answer, `the credential, whatever ${names} says`);
        const [, said = ''] = headers[0] ?? [];
        expectThat(!wholeOf(answer).includes(keyIn(said)), answer, `nothing of ${names} in the answer`);
      }
    },
  },
  {
    id: 'credential.stray-ticket',
    title: 'a bearer token beside a ticket in the query is ignored even where it is a ticket too',
    requirements: ['CRE-05'],
    claims: ['credential'],
    run: async (tools) => {
      const [one, other] = [await tools.given.text(), await tools.given.text()];
      const beside = tools.ticket('credential', other.name);
      const headers: HeaderPairs = [['authorization', `Bearer ${beside}`]];
      const answer = await tools.fetchCredential(tools.ticket('credential', one.name), headers);
      const { token } = deliveredIn(answer);
      expectThat(token['accessToken'] === one.value, answer, 'the credential that the query’s ticket is for');
      const bad = await tools.fetchCredential('bad', headers);
      expectRefusal(bad, 'TICKET_INVALID', 'a bad ticket in the query beside a good bearer token');
      expectOk(await tools.fetchCredential(beside));
    },
  },
  {
    id: 'credential.stray-key-unlogged',
    title: 'a key that a client sends along with its ticket is not in the webhook’s log',
    requirements: ['CRE-06'],
    claims: ['credential', 'storage'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const strays = strayHeaders().slice(1);
      expectOk(await tools.fetchCredential(tools.ticket('credential', name), strays));
      const log = await tools.storage({ op: 'audit.list', serviceName: name });
      expectOk(log);
      for (const [header, value] of strays)
        expectThat(!text(log).includes(keyIn(value)), log, `no ${header} in the log`);
    },
  },
  {
    id: 'credential.grant',
    title: 'a ticket without a grant is refused, unless it is an owner’s',
    requirements: ['TIX-19'],
    claims: ['credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const agents = tools.ticket('credential', name, { claims: { gnt: undefined } });
      expectRefusal(await tools.fetchCredential(agents), 'TICKET_INVALID', 'an agent’s ticket without gnt');
      await expectDelivered(tools, name, {
        claims: { gnt: undefined, sub: 'usr_conformance' },
        what: 'an owner’s ticket without gnt',
      });
    },
  },
  {
    id: 'credential.refresh-policy',
    title: 'a ticket has to say none or auto for its refresh policy',
    requirements: ['TIX-20'],
    claims: ['credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      for (const rfp of ['none', 'auto'])
        await expectDelivered(tools, name, { claims: { rfp }, what: `rfp ${rfp}` });
      for (const rfp of [null, '', 'always', 'AUTO', true, ['none']]) {
        const answer = await tools.fetchCredential(tools.ticket('credential', name, { claims: { rfp } }));
        expectRefusal(answer, 'TICKET_INVALID', `rfp ${JSON.stringify(rfp)}`);
      }
    },
  },
];

/** Headers and body as one text. */
const wholeOf = (answer: Answer): string =>
  [...answer.headers.map(([name, value]) => `${name}: ${value}`), text(answer)].join('\n');

/** The part of a header that nothing else could contain by chance. */
const keyIn = (value: string): string => value.replace(/^(Bearer|Basic) /, '');
