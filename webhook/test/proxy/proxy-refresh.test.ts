/** Credentials that are made or refreshed at the moment in which a proxy uses them (PROTOCOL.md section 5.6). */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  PROXY,
  type ProxyCall,
  callProxy,
  injections,
  proxyTicket,
  putProxy,
} from '../support/proxy-calls.ts';
import { CLIENT, type RefreshBench, type StoreOptions, refreshBench } from '../support/refresh-bench.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

let bench: RefreshBench;
let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream();
  bench = await refreshBench();
});
afterAll(async () => {
  await bench.close();
  await upstream.close();
});
beforeEach(() => bench.provider.misbehave(undefined));

/** An expired pair of the provider's, stored for the upstream, and a proxy that uses it. */
async function expired(serviceName: string, options: StoreOptions = {}): Promise<void> {
  await bench.store(serviceName, { ...options, body: { allowedHosts: [upstream.url] } });
  await putProxy(bench.webhook, upstream.url, { serviceName });
}
const call = (serviceName: string, more: ProxyCall = {}) =>
  callProxy(bench.webhook, { serviceName, ...more });
/** What the upstream was sent from now on. */
function tokensSince(before: number): readonly string[] {
  return upstream.requests.slice(before).map(({ headers }) => (headers.authorization ?? '').slice(7));
}

// spec: Expired stored credentials are refreshed by the webhook before the upstream call.
test('an expired token is refreshed first, and the use is logged afterwards', async () => {
  await expired('own');
  const before = upstream.requests.length;
  expect((await call('own')).status).toBe(200);
  const [token = ''] = tokensSince(before);
  expect(bench.provider.gave(token)).toBe(true);
  const entries = await bench.entries('own');
  expect(entries.map(({ eventType, outcome }) => [eventType, outcome]).slice(0, 2)).toEqual([
    ['CREDENTIAL_INJECTED', 'success'],
    ['CREDENTIAL_REFRESHED', 'success'],
  ]);
  expect(entries[0]?.detail).toMatchObject({ version: 2 });
});

test('200 concurrent calls with an expired token make one provider call', async () => {
  await expired('wanted');
  const [calls, before] = [bench.provider.calls.length, upstream.requests.length];
  const gate = bench.provider.hold();
  const answers = Array.from({ length: 200 }, () => call('wanted'));
  await bench.provider.arrived(calls + 1);
  gate.release();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect([new Set(statuses), bench.provider.calls.length - calls]).toEqual([new Set([200]), 1]);
  const tokens = tokensSince(before);
  expect([tokens.length, new Set(tokens).size, bench.provider.gave(tokens[0] ?? '')]).toEqual([200, 1, true]);
});

test('a record that only the control plane can refresh is answered REFRESH_NEEDED, and the upstream is not called', async () => {
  await expired('mediated', { provider: { mediated: true, clientSecret: undefined } });
  const [calls, before] = [bench.provider.calls.length, upstream.requests.length];
  const refused = await call('mediated');
  expect([refused.status, refused.json, refused.headers['retry-after']]).toEqual([
    409,
    { error: expect.any(String), code: 'REFRESH_NEEDED', retryAfter: 5, requestId: expect.any(String) },
    '5',
  ]);
  expect([refused.headers['sv-proxy-origin'], bench.provider.calls.length]).toEqual(['webhook', calls]);
  expect(tokensSince(before)).toEqual([]);
  const [entry] = await injections(bench.webhook, 'mediated');
  expect(entry).toMatchObject({ outcome: 'denied', detail: { code: 'REFRESH_NEEDED' } });

  const { leaseId } = (await bench.refresh({ phase: 'get', serviceName: 'mediated' })).json;
  await bench.refresh({ phase: 'update', leaseId, clientSecret: CLIENT.secret });
  expect((await call('mediated')).status).toBe(200);
  expect(bench.provider.gave(tokensSince(before)[0] ?? '')).toBe(true);
});

test('if the provider fails, the upstream is not called, and a repeated request makes no call', async () => {
  await expired('failing');
  bench.provider.misbehave({ status: 500 });
  const before = upstream.requests.length;
  const once: ProxyCall = {
    nonce: 'a-nonce-that-asked-a-provider',
    ticket: proxyTicket(bench.webhook, { serviceName: 'failing' }),
  };
  const failed = await call('failing', once);
  expect([failed.status, failed.json.code]).toEqual([502, 'PROVIDER_ERROR']);
  const calls = bench.provider.calls.length;
  expect((await call('failing', once)).status).toBe(401);
  expect([bench.provider.calls.length, tokensSince(before)]).toEqual([calls, []]);
  const [entry, ...others] = await injections(bench.webhook, 'failing');
  expect([entry?.outcome, entry?.detail['code'], others]).toEqual(['denied', 'PROVIDER_ERROR', []]);
});

test('a record that is stored for other hosts in the meantime is not sent to the former ones', async () => {
  await expired('moved');
  const [calls, before] = [bench.provider.calls.length, upstream.requests.length];
  const gate = bench.provider.hold();
  const answer = call('moved');
  await bench.provider.arrived(calls + 1);
  await bench.webhook.store('moved', {
    tokenType: 'PlainText',
    value: 'tkn_stored_anew_0189',
    allowedHosts: ['api.test'],
  });
  gate.release();
  expect((await answer).status).toBe(409);
  expect((await call('moved')).json.code).toBe('DESTINATION_NOT_ALLOWED');
  expect(tokensSince(before)).toEqual([]);
});

const elsewhere = (serviceName: string) => putProxy(bench.webhook, `${upstream.url}/new`, { serviceName });
test.each<readonly [string, (serviceName: string) => Promise<unknown>, number, number]>([
  ['changed, goes where it leads by then', elsewhere, 200, 1],
  ['given another record', () => elsewhere('other'), 403, 0],
  ['taken away', () => bench.webhook.storage({ op: 'proxies.delete', proxyId: PROXY }), 404, 0],
])('a proxy that is %s while a provider is asked', async (what, change, status, sent) => {
  await expired(what);
  const [calls, before] = [bench.provider.calls.length, upstream.requests.length];
  const gate = bench.provider.hold();
  const answer = call(what);
  await bench.provider.arrived(calls + 1);
  await change(what);
  gate.release();
  expect((await answer).status).toBe(status);
  const targets = upstream.requests.slice(before).map(({ url }) => url);
  expect([targets.length, targets.every((url) => url.endsWith('/new'))]).toEqual([sent, true]);
});

test('a TOTP record injects the current code', async () => {
  const { webhook } = bench;
  const permitted = { allowedHosts: [upstream.url], allowShortSecret: true };
  await webhook.store('totp', { tokenType: 'TOTP', secret: 'JBSWY3DPEHPK3PXP', ...permitted });
  await putProxy(webhook, upstream.url, { serviceName: 'totp' });
  const before = upstream.requests.length;
  expect((await call('totp')).status).toBe(200);
  const { accessToken } = (await webhook.credential('totp')).json.token;
  expect([accessToken, tokensSince(before)]).toEqual([expect.stringMatching(/^\d{6}$/), [accessToken]]);
});
