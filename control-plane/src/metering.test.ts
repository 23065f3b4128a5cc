import { createMetrics as createRegistry, metersOf } from '@svault/server-kit/metrics';
import { ManualClock, newId } from '@svault/shared';
import { expect, it } from 'vitest';
import { type Denied, type ProxyAccess, type ProxyRequest, denied } from './access/decision.ts';
import { ApiError } from './core/errors.ts';
import { createMetering } from './metering.ts';
import { NO_METRICS, createMetrics } from './metrics.ts';

const REQUEST: ProxyRequest = {
  keyHash: undefined,
  kind: 'mcp',
  traffic: 'proxy_mcp',
  method: 'POST',
  target: undefined,
  fields: [],
  body: new Uint8Array(),
  origin: { requestId: newId('req') },
};
const NO_STREAM = denied({ code: 'RATE_LIMITED', scope: 'open_streams', retryAfterSeconds: 1 });

const accessThat = (decide: () => Promise<Denied>): ProxyAccess => ({ decide, admit: decide });

function startFixture() {
  const registry = createRegistry();
  const metering = createMetering(createMetrics(metersOf(registry)), new ManualClock(0));
  return { metering, text: () => registry.metrics() };
}

it('leaves every part as it is where nothing is measured', () => {
  const metering = createMetering(NO_METRICS, new ManualClock(0));
  const access = accessThat(() => Promise.resolve(NO_STREAM));
  expect(metering.proxyAccess(access)).toBe(access);
  const find = { find: () => undefined };
  expect(metering.proxyAccessStore(find)).toBe(find);
});

it('counts a denial by its code, and the limit of what is open', async () => {
  const { metering, text } = startFixture();
  const access = metering.proxyAccess(accessThat(() => Promise.resolve(NO_STREAM)));
  expect(await access.decide(REQUEST)).toBe(NO_STREAM);
  expect(await access.admit('', 1, REQUEST.origin)).toBe(NO_STREAM);
  const metrics = await text();
  expect(metrics).toContain('svault_access_decisions_total{channel="proxy",outcome="RATE_LIMITED"} 2\n');
  expect(metrics).toContain('svault_limiter_decisions_total{scope="open_streams",verdict="denied"} 2\n');
});

it('counts a decision that could not be recorded, and every other error as one', async () => {
  const { metering, text } = startFixture();
  const failing = (error: Error) => metering.proxyAccess(accessThat(() => Promise.reject(error)));
  const unrecorded = new ApiError('AUDIT_UNAVAILABLE', 'not now');
  await expect(failing(unrecorded).decide(REQUEST)).rejects.toBe(unrecorded);
  await expect(failing(new ApiError('INTERNAL', 'no')).decide(REQUEST)).rejects.toThrow('no');
  await expect(failing(new Error('a secret')).decide(REQUEST)).rejects.toThrow('a secret');
  const metrics = await text();
  expect(metrics).toContain('svault_access_decisions_total{channel="proxy",outcome="AUDIT_UNAVAILABLE"} 1\n');
  expect(metrics).toContain('svault_access_decisions_total{channel="proxy",outcome="other"} 2\n');
  expect(metrics).not.toContain('secret');
});
