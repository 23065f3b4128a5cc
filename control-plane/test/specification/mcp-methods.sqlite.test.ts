import { newKey } from '@svault/shared';
import { describe, expect } from 'vitest';
import { clientOf } from '../support/management-service.ts';
import { ERAS, MCP } from '../support/mcp-steps.ts';
import { HANDSHAKES, type Message, inFull, posted, toolsCall } from './eras.ts';
import { expectHttpRefusal, expectResult, expectToolError } from './mcp-answers.ts';
import { mcpTest } from './mcp-fixture.ts';

/** Every method that the endpoint answers, and some that it does not know. */
const METHODS: readonly Message[] = [
  ...Object.values(HANDSHAKES).flat(),
  toolsCall('whoami', {}),
  toolsCall('get_credential', { service: 'github' }),
  { method: 'ping' },
  { method: 'resources/list' },
  { method: 'no/such' },
  { method: 'notifications/anything', id: null },
];

describe.each(ERAS)('in revision %s', (era) => {
  const test = mcpTest(era);

  // spec: JSON-RPC 2.0 over Streamable HTTP.
  test('the endpoint speaks JSON-RPC over Streamable HTTP, without a stream or session of its own', async ({
    fixture,
  }) => {
    const { era, pair, caller } = fixture;
    const { apiKey, mcp } = await fixture.agent();
    // Streamable HTTP: one JSON document for a request, 202 and nothing for what wants no answer.
    for (const id of ['a text', 0, -7, 4_711]) {
      const { status, headers, json } = await mcp.send({ method: 'tools/list', id });
      expect([status, json.jsonrpc, json.id, Object.keys(json).toSorted()]).toEqual([
        200,
        '2.0',
        id,
        ['id', 'jsonrpc', 'result'],
      ]);
      expect(headers.get('content-type')).toMatch(/^application\/json/);
      expect(headers.get('mcp-session-id')).toBeNull();
    }
    const notified = await mcp.send({ method: 'notifications/initialized', id: null });
    expect([notified.status, notified.text]).toEqual([202, '']);
    // Neither a stream of its own nor a session that could be ended.
    const message = posted(era, { method: 'tools/list' }, apiKey);
    for (const method of ['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS']) {
      const { headers } = message;
      const answer = await clientOf(pair.controlPlaneUrl())(method, MCP, { headers });
      expectHttpRefusal(answer, 405, 'METHOD_NOT_ALLOWED');
      expect(answer.headers.get('allow')).toBe('POST');
    }
    expect((await caller(apiKey).sendRaw('no message')).json.error.code).toBe(-32_600);
  });

  // spec: Methods used: initialize, tools/list, tools/call, notifications/*.
  test('initialize, tools/list, tools/call and notifications are answered, and others are -32601', async ({
    fixture,
  }) => {
    const { mcp } = await fixture.agent('github');
    const { era } = fixture;
    const [hello] = HANDSHAKES[era];
    const greeted = (await mcp.send(hello)).json.result;
    const offered: unknown = greeted.protocolVersion ?? greeted.supportedVersions;
    expect([offered].flat()).toContain(era);
    expect(greeted.capabilities).toHaveProperty('tools');
    for (const method of ['notifications/initialized', 'notifications/cancelled', 'notifications/any/thing'])
      expect((await mcp.send({ method, id: null })).status).toBe(202);
    const listed = (await mcp.send({ method: 'tools/list' })).json.result.tools as readonly {
      readonly name: string;
      readonly inputSchema: { readonly type: string };
      readonly outputSchema: { readonly type: string };
    }[];
    expect(listed.map(({ name }) => name).toSorted()).toEqual([
      'credential_history',
      'get_credential',
      'list_credentials',
      'show_credential',
      'whoami',
    ]);
    for (const { inputSchema, outputSchema } of listed)
      expect([inputSchema.type, outputSchema.type]).toEqual(['object', 'object']);
    expectResult(await mcp.call('list_credentials', {}));
    // What there is none of is said in the protocol.
    const unknown = await mcp.send({ method: 'no/such' });
    expect([unknown.json.error.code, unknown.json.id]).toEqual([-32_601, 1]);
  });

  // spec: Auth is required on every method, including initialize.
  test('every method takes a key, before the body is read', async ({ fixture }) => {
    for (const message of METHODS)
      expectHttpRefusal(await fixture.caller().send(message), 401, 'MISSING_KEY');
    for (const message of METHODS)
      expectHttpRefusal(await fixture.caller(newKey('svagent')).send(message), 401, 'INVALID_KEY');
    // Before anything is said of a body.
    for (const body of [[], 'no message', { jsonrpc: '1.0' }, [toolsCall('whoami')]])
      expectHttpRefusal(await fixture.caller().sendRaw(body), 401, 'MISSING_KEY');
  });

  // spec: A request body that is a JSON array (batch) gets a single JSON-RPC error, code -32600, message Batch requests are not supported, id null.
  test('a batch gets one -32600 error, and none of its messages is processed', async ({ fixture }) => {
    const { era } = fixture;
    const { mcp } = await fixture.agent('github');
    const one = inFull(era, { method: 'tools/list' }).body;
    const other = inFull(era, toolsCall('get_credential', { service: 'github' }, 'mine')).body;
    for (const batch of [[], [one], [one, one], [other], [one, other], [[one]], [7], [null]]) {
      const { status, json } = await mcp.sendRaw(batch);
      expect([status, json]).toEqual([
        400,
        {
          jsonrpc: '2.0',
          id: null,
          error: { code: -32_600, message: 'Batch requests are not supported' },
        },
      ]);
    }
    // None of its messages was answered behind it.
    const { structured } = expectResult(await mcp.call('credential_history', { service: 'github' }));
    expect(structured.history).toMatchObject([{ eventType: 'GRANT_CREATED' }]);
  });

  // spec: tools/call takes params.name and params.arguments.
  test('tools/call takes a known name and an object of arguments', async ({ fixture }) => {
    const { mcp } = await fixture.agent('github');
    expect(expectResult(await mcp.call('show_credential', { service: 'github' })).structured).toMatchObject({
      serviceName: 'github',
    });
    for (const without of ['list_credentials', 'whoami']) {
      expectResult(await mcp.call(without));
      expectResult(await mcp.call(without, {}));
    }
    for (const params of [{}, { name: 7 }, { arguments: {} }, { name: 'whoami', arguments: 'none' }]) {
      const { status, json } = await mcp.send({ method: 'tools/call', params });
      expect([params, [200, 400].includes(status), json.error?.code, json.id]).toEqual([
        params,
        true,
        -32_602,
        1,
      ]);
    }
    for (const name of ['no_such_tool', '', 'WHOAMI', '__proto__', 'toString']) {
      const { json } = await mcp.call(name, {});
      expect([name, json.error?.code, json.id]).toEqual([name, -32_602, 1]);
    }
    // Without an id it is a notification, and does nothing.
    const silent = await mcp.send({ ...toolsCall('get_credential', { service: 'github' }), id: null });
    expect([silent.status, silent.text]).toEqual([202, '']);
    const { structured } = expectResult(await mcp.call('credential_history', { service: 'github' }));
    expect(structured.history).toMatchObject([{ eventType: 'GRANT_CREATED' }]);
  });

  // spec: A tools/call denial comes back as HTTP 200 with a result carrying isError: true, a text content item and structuredContent {code, message, retryAfter?} (see Errors).
  test('a denied call is a tool result with isError and its code', async ({ fixture }) => {
    const { mcp, id: agentId } = await fixture.agent('github');
    const rule = { type: 'rate_limit', limit: 1, windowSeconds: 30 };
    await fixture.policy(rule, { targetType: 'agent', targetId: agentId });
    // `expectToolError`: HTTP 200, exactly these members, and `retryAfter` only where it is named.
    expectToolError(await mcp.call('get_credential', { service: 'nothing' }), 'NO_GRANT');
    expectToolError(await mcp.call('show_credential', {}), 'INVALID_ARGUMENT');
    expectResult(await mcp.call('get_credential', { service: 'github' }));
    expectToolError(await mcp.call('get_credential', { service: 'github' }), 'POLICY_DENIED', 30);
  });
});
