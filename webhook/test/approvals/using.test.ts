/** Uses of a record whose owner wants each approved (PROTOCOL.md section 5.10). */
import { contentDigest } from '@svault/shared';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  AGENT,
  APPROVAL,
  CREDENTIAL,
  approved,
  ask,
  decide,
  enrol,
  post,
  statusOf,
} from '../support/approvals.ts';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { PROXY, type ProxyCall, callProxy, injections, putProxy } from '../support/proxy-calls.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

const SECRET = { tokenType: 'PlainText', value: 'tkn_approvals_0123456789' };
const OTHER_AGENT = 'agt_BBBBBBBBBBBBBBBBBBBBBB';
const MINUTE = 60_000;

let webhook: BoundWebhook;
let upstream: Upstream;
let ana: Awaited<ReturnType<typeof enrol>>;
beforeAll(async () => {
  upstream = await startUpstream();
  webhook = await boundWebhook({ env: { SV_EGRESS_ALLOW: '127.0.0.1/32' } });
  ana = await enrol(webhook);
});
afterAll(async () => {
  await webhook.remove();
  await upstream.close();
});

const store = (more: object = {}) =>
  webhook.store('api', { ...SECRET, allowedHosts: [upstream.url], approval: APPROVAL, ...more });
const required = { status: 403, json: { code: 'APPROVAL_REQUIRED' } };
const encoded = (body: string): string => Buffer.from(body).toString('base64');

describe('a credential', () => {
  beforeEach(() => store());

  test('leaves once for each approval, to the agent that it is for', async () => {
    expect(await webhook.credential('api')).toMatchObject(required);
    const id = await approved(webhook, ana, CREDENTIAL);
    expect(await webhook.credential('api', { sub: OTHER_AGENT })).toMatchObject(required);
    expect(await webhook.credential('api')).toMatchObject({
      status: 200,
      json: { token: { accessToken: SECRET.value } },
    });
    expect(await webhook.credential('api')).toMatchObject(required);
    const { json } = await webhook.storage({ op: 'audit.list', serviceName: 'api' });
    const uses = (json.items as { eventType: string; outcome: string; detail: object }[]).filter(
      ({ eventType }) => eventType === 'CREDENTIAL_DELIVERED',
    );
    expect(uses.slice(0, 2)).toMatchObject([
      { outcome: 'denied', detail: { code: 'APPROVAL_REQUIRED' } },
      { outcome: 'success', detail: { approval: id } },
    ]);
  });

  test('leaves to its owner no sooner than to anybody', async () => {
    const owner = { sub: 'usr_AAAAAAAAAAAAAAAAAAAAAA' };
    expect(await webhook.credential('api', owner)).toMatchObject(required);
    await approved(webhook, ana, CREDENTIAL, owner);
    expect(await webhook.credential('api', owner)).toMatchObject({ status: 200 });
  });

  test('does not leave by an approval that is over, denied, or for another credential', async () => {
    await approved(webhook, ana, CREDENTIAL);
    webhook.clock.advance(15 * MINUTE);
    expect(await webhook.credential('api')).toMatchObject(required);
    await webhook.store('other', { ...SECRET, approval: APPROVAL });
    await approved(webhook, ana, CREDENTIAL, { serviceName: 'other' });
    expect(await webhook.credential('api')).toMatchObject(required);
    const denied = { sub: OTHER_AGENT };
    await approved(webhook, ana, CREDENTIAL, { decision: 'deny', ...denied });
    expect(await webhook.credential('api', denied)).toMatchObject(required);
  });

  test('does not leave again, and is not decided on, where the clock was set back after an approval’s end', async () => {
    await approved(webhook, ana, CREDENTIAL);
    const { id } = (await ask(webhook, CREDENTIAL, { sub: OTHER_AGENT })).json;
    webhook.clock.advance(15 * MINUTE);
    expect(await webhook.credential('api')).toMatchObject(required);
    webhook.clock.jump(-10 * MINUTE);
    expect((await webhook.credential('api')).status).not.toBe(200);
    expect(await decide(webhook, id, ana)).toMatchObject({ status: 409 });
    webhook.clock.jump(10 * MINUTE);
  });

  test('uses up a ticket that is refused, and no approval where it could not be handed out anyway', async () => {
    const ticket = webhook.credentialTicket('api');
    expect(await webhook.send(`/v1/credential?ticket=${ticket}`)).toMatchObject(required);
    const id = await approved(webhook, ana, CREDENTIAL);
    expect(await webhook.send(`/v1/credential?ticket=${ticket}`)).toMatchObject({ status: 401 });
    expect(await statusOf(webhook, id)).toBe('approved');
    await store({ value: '' });
    const ofEmpty = await approved(webhook, ana, CREDENTIAL);
    expect(await webhook.credential('api')).toMatchObject({ status: 422 });
    expect(await statusOf(webhook, ofEmpty)).toBe('approved');
  });

  test('leaves as often as an allowance lasts, which its approver or the machine can end', async () => {
    await store({ approval: { ...APPROVAL, standingSeconds: 3600 } });
    const id = await approved(webhook, ana, CREDENTIAL, { scope: 'standing:3600' });
    for (let time = 0; time < 3; time += 1) expect((await webhook.credential('api')).status).toBe(200);
    expect((await ask(webhook, CREDENTIAL)).json).toMatchObject({ id, status: 'approved' });
    webhook.clock.advance(60 * MINUTE - 1);
    expect((await webhook.credential('api')).status).toBe(200);
    webhook.clock.advance(1);
    expect(await webhook.credential('api')).toMatchObject(required);
    const again = await approved(webhook, ana, CREDENTIAL, { scope: 'standing:60' });
    await decide(webhook, again, ana, { decision: 'revoke' });
    expect(await webhook.credential('api')).toMatchObject(required);
  });

  test('leaves exactly once when 1,000 tickets race for one approval', { timeout: 60_000 }, async () => {
    await approved(webhook, ana, CREDENTIAL);
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => webhook.credential('api')));
    const counts = Map.groupBy(answers, ({ status }) => status);
    expect([counts.get(200)?.length, counts.get(403)?.length]).toEqual([1, 999]);
  });
});

describe('a request to an HTTP API', () => {
  const POST = {
    method: 'POST',
    target: '/items?a=1',
    body: '{"n":1}',
    covered: { 'x-account': '1' },
  } as const;
  /** As the service asks for it. */
  const operation = {
    type: 'proxy',
    proxyId: PROXY,
    method: POST.method,
    target: POST.target,
    fields: [
      ['content-type', 'application/json'],
      ['x-account', '1'],
    ],
    body: encoded(POST.body),
  };
  const call = (changes: ProxyCall = {}) =>
    callProxy(webhook, { ...POST, claims: { sub: AGENT }, ...changes });

  beforeEach(async () => {
    await store();
    await putProxy(webhook, `${upstream.url}/v1`, { kind: 'http' });
  });

  test('is made once for each approval, as it was approved', async () => {
    const before = upstream.requests.length;
    expect(await call()).toMatchObject(required);
    expect(upstream.requests).toHaveLength(before);
    const id = await approved(webhook, ana, operation);
    expect(await call({ headers: { 'user-agent': 'another' } })).toMatchObject({ status: 200 });
    expect(upstream.requests.at(-1)).toMatchObject({ method: 'POST', url: '/v1/items?a=1' });
    expect(await call()).toMatchObject(required);
    const [, used] = await injections(webhook, 'api');
    expect(used?.detail).toMatchObject({ approval: id });
  });

  test.each<[string, ProxyCall]>([
    ['another agent', { claims: { sub: OTHER_AGENT } }],
    ['another method', { method: 'PUT' }],
    ['another path', { target: '/other?a=1' }],
    ['another query', { target: '/items?a=2' }],
    ['another body', { body: '{"n":2}' }],
    ['the same JSON in other bytes', { body: '{"n": 1}' }],
    ['another header', { covered: { 'x-account': '2' } }],
    ['a header more', { covered: { 'x-account': '1', 'x-http-method-override': 'DELETE' } }],
    ['a header less', { covered: {} }],
    ['another media type', { contentType: 'text/plain' }],
    ['another version of the API', { covered: { 'x-account': '1', accept: 'application/vnd.api.v2+json' } }],
  ])('is not made by an approval where it is one of %s', async (_what, changes) => {
    const id = await approved(webhook, ana, operation);
    const before = upstream.requests.length;
    expect(await call(changes)).toMatchObject(required);
    expect(upstream.requests).toHaveLength(before);
    expect(await statusOf(webhook, id)).toBe('approved');
    expect(await call()).toMatchObject({ status: 200 });
  });

  test.each<[string, () => Promise<void>]>([
    ['its upstream', () => putProxy(webhook, `${upstream.url}/v2`, { kind: 'http' })],
    [
      'a template of a header',
      () =>
        putProxy(webhook, `${upstream.url}/v1`, {
          kind: 'http',
          headerTemplates: { authorization: 'Bearer ${TOKEN}', 'x-http-method-override': 'DELETE' },
        }),
    ],
    [
      'a template of the query',
      () => putProxy(webhook, `${upstream.url}/v1`, { kind: 'http', queryTemplates: { _method: 'DELETE' } }),
    ],
    ['its kind', () => putProxy(webhook, `${upstream.url}/v1/items?a=1`)],
  ])('is not made by an approval once the control plane has changed %s', async (_what, change) => {
    await approved(webhook, ana, operation);
    await change();
    const answer = await call();
    expect(answer.headers['sv-proxy-origin']).toBe('webhook');
    expect(answer.status).toBe(403);
  });

  test('is not made by an approval for another proxy, or for the credential', async () => {
    const other = 'prx_BBBBBBBBBBBBBBBBBBBBBB';
    await putProxy(webhook, `${upstream.url}/v1`, { kind: 'http', proxyId: other });
    await approved(webhook, ana, { ...operation, proxyId: other });
    await approved(webhook, ana, CREDENTIAL);
    expect(await call()).toMatchObject(required);
    expect(await call({ proxyId: other })).toMatchObject({ status: 200 });
  });

  test('with a body that was too long to show is made by its digest', async () => {
    const body = 'a'.repeat(20 * 1024);
    const long = {
      ...operation,
      body: undefined,
      bodyDigest: contentDigest(Buffer.from(body)),
      bodyBytes: body.length,
    };
    await approved(webhook, ana, long);
    expect(await call({ body: `${body.slice(1)}b` })).toMatchObject(required);
    expect(await call({ body })).toMatchObject({ status: 200 });
  });

  test('under an allowance is any to the same path with the same method', async () => {
    await store({ approval: { ...APPROVAL, standingSeconds: 600 } });
    await approved(webhook, ana, operation, { scope: 'standing:600' });
    expect(await call({ body: '{}', target: '/items' })).toMatchObject({ status: 200 });
    for (const target of ['/Items', '/items/', '/%69tems'])
      expect([target, (await call({ target })).status]).toEqual([target, 403]);
    expect(await call({ target: '/other' })).toMatchObject(required);
    expect(await call({ method: 'DELETE' })).toMatchObject(required);
    expect(await call({ claims: { sub: OTHER_AGENT } })).toMatchObject(required);
    expect(await webhook.credential('api')).toMatchObject(required);
  });

  test.each<[string, ProxyCall]>([
    ['another method in a header', { covered: { 'x-http-method-override': 'DELETE' } }],
    ['another method in the query', { target: '/items?_method=DELETE' }],
    [
      'another method in a form',
      { body: '_method=DELETE', contentType: 'application/x-www-form-urlencoded' },
    ],
    ['another path in a header', { covered: { 'x-original-url': '/admin' } }],
    ['a path that servers read in two ways', { target: '/items;a' }],
  ])('that names %s is under no allowance, and gets none', async (_what, changes) => {
    await store({ approval: { ...APPROVAL, standingSeconds: 600 } });
    await approved(webhook, ana, operation, { scope: 'standing:600' });
    expect(await call(changes)).toMatchObject(required);
    const {
      target = POST.target,
      body = POST.body,
      covered = POST.covered,
      contentType = 'application/json',
    } = changes;
    const fields = Object.entries({ ...covered, 'content-type': contentType });
    const { id } = (await ask(webhook, { ...operation, target, fields, body: encoded(String(body)) })).json;
    expect(await decide(webhook, id, ana, { scope: 'standing:600' })).toMatchObject({ status: 400 });
    expect(await decide(webhook, id, ana)).toMatchObject({ status: 200 });
    expect(await call(changes)).toMatchObject({ status: 200 });
  });

  test('is refused for its rules before an approval is looked for, and uses up none', async () => {
    await store({ requests: [{ methods: ['POST'], paths: ['/v1/items'] }] });
    const id = await approved(webhook, ana, operation);
    await store({ requests: [{ methods: ['GET'], paths: ['/v1/items'] }] });
    expect(await call()).toMatchObject({ status: 403, json: { code: 'REQUEST_NOT_ALLOWED' } });
    expect(await statusOf(webhook, id)).toBe('expired');
  });

  test('is made exactly once when 200 race for one approval', { timeout: 60_000 }, async () => {
    await approved(webhook, ana, operation);
    const before = upstream.requests.length;
    const answers = await Promise.all(Array.from({ length: 200 }, () => call()));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(upstream.requests).toHaveLength(before + 1);
  });
});

describe('a message of MCP', () => {
  const message = (method: string, params?: object, id = 1): string =>
    JSON.stringify({ jsonrpc: '2.0', id, method, params });
  const callTool = (name: string, given: object, more: object = {}, id = 1): string =>
    message('tools/call', { name, arguments: given, ...more }, id);
  const operation = (body: string) => ({
    type: 'proxy',
    proxyId: PROXY,
    method: 'POST',
    fields: [['content-type', 'application/json']],
    body: encoded(body),
  });
  const call = (changes: ProxyCall) => callProxy(webhook, { claims: { sub: AGENT }, ...changes });
  const RULES = { requests: [{ mcp: ['*'], paths: ['/mcp'] }] };

  beforeEach(async () => {
    await store(RULES);
    await putProxy(webhook, `${upstream.url}/mcp`);
  });

  test('is the same when a client repeats it with another id and another token for its progress', async () => {
    await approved(webhook, ana, operation(callTool('delete', { id: 7 }, { _meta: { progressToken: 1 } })));
    expect(
      await call({ body: callTool('delete', { id: 8 }, { _meta: { progressToken: 2 } }) }),
    ).toMatchObject(required);
    expect(await call({ body: callTool('drop', { id: 7 }, { _meta: { progressToken: 2 } }) })).toMatchObject(
      required,
    );
    const again = callTool('delete', { id: 7 }, { _meta: { progressToken: 2 } }, 2);
    expect(await call({ body: again })).toMatchObject({ status: 200 });
    expect(await call({ body: again })).toMatchObject(required);
  });

  test.each<[string, ProxyCall]>([
    ['the handshake', { body: message('initialize', {}) }],
    ['a notification', { body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' }],
    ['a response', { body: '{"jsonrpc":"2.0","id":1,"result":{}}' }],
    ['a list of tools', { body: message('tools/list') }],
    ['the stream of the server', { method: 'GET' }],
    ['the end of a session', { method: 'DELETE' }],
  ])(
    'that is %s needs no approval where a rule says that a server of MCP is there',
    async (_what, changes) => {
      expect(await call(changes)).toMatchObject({ status: 200 });
      await store();
      expect(await call(changes)).toMatchObject(required);
    },
  );

  test('that only the control plane says is one is covered byte for byte, as any body is', async () => {
    await store();
    const asked = operation(callTool('pay', { sum: 1 }, { _meta: { to: 'a' } }));
    await approved(webhook, ana, asked);
    for (const body of [
      callTool('pay', { sum: 1 }, { _meta: { to: 'a' } }, 2),
      callTool('pay', { sum: 1 }, { _meta: { to: 'b' } }),
    ])
      expect(await call({ body })).toMatchObject(required);
    expect(await call({ body: callTool('pay', { sum: 1 }, { _meta: { to: 'a' } }) })).toMatchObject({
      status: 200,
    });
    const { json } = await ask(webhook, asked);
    const shown = (await webhook.send(`/approvals/${json.id}`)).text;
    expect(shown).not.toContain('<dt>Tool</dt>');
    expect(shown).not.toContain('not covered');
  });

  test('is shown as it is covered: without the number and the token that a client changes', async () => {
    const asked = operation(callTool('delete', { id: 7 }, { _meta: { progressToken: 'a' } }, 5));
    const { id } = (await ask(webhook, asked)).json;
    const { json } = await post(webhook, `/approvals/${id}/options`, { decision: 'approve', scope: 'once' });
    const covered =
      '{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"delete","arguments":{"id":7},"_meta":0}}';
    expect(Buffer.from(json.shown.body, 'base64').toString()).toBe(covered);
    expect((await webhook.send(`/approvals/${id}`)).text).toContain('are not covered, and 0 here');
  });

  test('with two readings is refused as such', async () => {
    const body = callTool('delete', {}).replace('{', '{"method":"ping",');
    expect(await call({ body })).toMatchObject({
      status: 403,
      json: { code: 'REQUEST_NOT_ALLOWED', cause: 'json' },
    });
    expect(await ask(webhook, operation(body))).toMatchObject({ status: 403, json: { cause: 'json' } });
  });

  test('under an allowance is any call of the same tool', async () => {
    await store({ ...RULES, approval: { ...APPROVAL, standingSeconds: 600 } });
    await approved(webhook, ana, operation(callTool('search', { q: 'a' })), { scope: 'standing:600' });
    expect(await call({ body: callTool('search', { q: 'b' }) })).toMatchObject({ status: 200 });
    expect(await call({ body: callTool('delete', { q: 'b' }) })).toMatchObject(required);
  });
});

test('A use whose record asks for no approval looks for none', async () => {
  await store({ approval: { by: 'passkey', for: ['credential'] } });
  await putProxy(webhook, `${upstream.url}/v1`, { kind: 'http' });
  const get: ProxyCall = { method: 'GET', target: '/', claims: { sub: AGENT } };
  expect(await callProxy(webhook, get)).toMatchObject({ status: 200 });
  await store({ approval: { by: 'passkey', for: ['proxy'] } });
  expect(await callProxy(webhook, get)).toMatchObject(required);
  expect(await webhook.credential('api')).toMatchObject({ status: 200 });
});
