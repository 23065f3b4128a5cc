import type { Check } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import { json, toolCall } from '../proxy/ruled-record.ts';
import { ask, asked, OF_PROXY, setUpApprovedMcp } from './approved-record.ts';

const HANDSHAKES = {
  initialize: json('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'),
  'server/discover': json('{"jsonrpc":"2.0","id":1,"method":"server/discover"}'),
  ping: json('{"jsonrpc":"2.0","id":1,"method":"ping"}'),
  'a notification': json('{"jsonrpc":"2.0","method":"notifications/initialized"}'),
  'tools/list': json('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
  'a response': json('{"jsonrpc":"2.0","id":1,"result":{}}'),
};
const WITHOUT_BODY = { 'a GET': { method: 'GET' }, 'a DELETE': { method: 'DELETE' } };

/** Protocol section 5.10: messages without which no client of MCP gets as far as a call. */
export const HANDSHAKE_CHECKS: readonly Check[] = [
  {
    id: 'approvals.handshake',
    title: 'where a rule for MCP is there, a handshake needs no approval, and a call of a tool does',
    requirements: ['APR-20'],
    claims: [...OF_PROXY, 'request-rules'],
    run: async (tools) => {
      const mcp = await setUpApprovedMcp(tools, { isRuled: true });
      let arrived = 0;
      await eachVariant({ ...HANDSHAKES, ...WITHOUT_BODY }, async (how) => {
        const answer = await mcp.use(how);
        arrived++;
        expectThat(mcp.place.calls.length === arrived, answer, 'a call of the upstream');
        const { status } = expectOk(await ask(tools, mcp.asking(how)));
        expectThat(status === 'not_required', answer, '{ status: not_required }');
      });
      for (const how of [json(toolCall('get_issue')), { ...json(toolCall('a')), method: 'DELETE' }])
        expectRefusal(
          await mcp.use(how),
          how.method === undefined ? 'APPROVAL_REQUIRED' : 'REQUEST_NOT_ALLOWED',
        );
    },
  },
  {
    id: 'approvals.handshake-without-rule',
    title: 'where no rule for MCP is there, a handshake needs an approval too',
    requirements: ['APR-21'],
    claims: OF_PROXY,
    run: async (tools) => {
      const mcps = [await setUpApprovedMcp(tools)];
      if (tools.claims.has('request-rules')) mcps.push(await setUpApprovedMcp(tools, { isRuled: false }));
      for (const mcp of mcps) {
        await eachVariant({ ...HANDSHAKES, ...WITHOUT_BODY }, async (how) => {
          expectRefusal(await mcp.use(how), 'APPROVAL_REQUIRED');
          const { method } = how;
          const call = { ...how, ...(method !== undefined && { method }) };
          const { status, answer } = await asked(tools, mcp.asking(call));
          expectThat(status === 'pending', answer, 'a request');
        });
        expectThat(mcp.place.calls.length === 0, await mcp.use({}), 'no call of the upstream');
      }
    },
  },
];
