/** Approvals of uses for which a provider must be called first (PROTOCOL.md section 5.10). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AGENT, APPROVAL, CREDENTIAL, approved, enrol, statusOf } from '../support/approvals.ts';
import { PROXY, callProxy, putProxy } from '../support/proxy-calls.ts';
import { type RefreshBench, refreshBench } from '../support/refresh-bench.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

let bench: RefreshBench;
let upstream: Upstream;
let ana: Awaited<ReturnType<typeof enrol>>;
beforeAll(async () => {
  upstream = await startUpstream();
  bench = await refreshBench();
  ana = await enrol(bench.webhook);
});
afterAll(async () => {
  await bench.close();
  await upstream.close();
});

const store = (name: string, more: object = {}) =>
  bench.store(name, { body: { approval: APPROVAL, allowedHosts: [upstream.url], ...more } });

test('No provider is called for a credential that is not approved', async () => {
  await store('refused');
  const calls = bench.provider.calls.length;
  expect(await bench.fetch('refused')).toBe('APPROVAL_REQUIRED');
  expect(bench.provider.calls).toHaveLength(calls);
});

test('An approval is used up before the provider is called, so that concurrent uses cause one call', async () => {
  await store('once');
  const id = await approved(bench.webhook, ana, CREDENTIAL, { serviceName: 'once' });
  const calls = bench.provider.calls.length;
  const fetched = await Promise.all(Array.from({ length: 20 }, () => bench.fetch('once')));
  expect(fetched.filter((each) => each !== 'APPROVAL_REQUIRED')).toHaveLength(1);
  expect(bench.provider.calls).toHaveLength(calls + 1);
  expect(await statusOf(bench.webhook, id)).toBe('used');
});

test('An approval survives a refresh of its credential', async () => {
  await store('refreshed', { approval: { ...APPROVAL, standingSeconds: 600 } });
  const given = { serviceName: 'refreshed', scope: 'standing:600' };
  await approved(bench.webhook, ana, CREDENTIAL, given);
  expect(await bench.fetch('refreshed')).not.toBe('APPROVAL_REQUIRED');
  expect(await bench.metadata('refreshed')).toMatchObject({ version: 2, approval: { standingSeconds: 600 } });
  expect(await bench.fetch('refreshed')).not.toBe('APPROVAL_REQUIRED');
});

test('An approved request is not made where its proxy was changed while the provider was called', async () => {
  const { webhook, provider } = bench;
  await store('changed');
  const http = { kind: 'http', serviceName: 'changed' } as const;
  await putProxy(webhook, `${upstream.url}/v1`, http);
  const operation = { type: 'proxy', proxyId: PROXY, method: 'GET', target: '/items' };
  await approved(webhook, ana, operation, { serviceName: 'changed' });
  const [calls, before] = [provider.calls.length, upstream.requests.length];
  const gate = provider.hold();
  const calling = callProxy(webhook, {
    serviceName: 'changed',
    method: 'GET',
    target: '/items',
    claims: { sub: AGENT },
  });
  await provider.arrived(calls + 1);
  await putProxy(webhook, `${upstream.url}/v2`, http);
  gate.release();
  expect(await calling).toMatchObject({ status: 403, json: { code: 'APPROVAL_REQUIRED' } });
  expect(upstream.requests).toHaveLength(before);
});
