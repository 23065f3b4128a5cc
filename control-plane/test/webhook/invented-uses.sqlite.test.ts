import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { ManualClock, formatTime, newId, newTimeOrderedId } from '@svault/shared';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type FaultyWebhook, startFaultyWebhook } from '../support/faulty-webhook.ts';
import { type ManagementService, makePlace, serveOn } from '../support/management-service.ts';
import { stepsOn } from '../support/service-steps.ts';

/* A webhook belongs to its account's owner, who may change it: what it lists as uses need not have happened. */

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const jobs = jobsByHand();
let service: ManagementService;
let webhook: FaultyWebhook;
let listed: object[];
let asked: number;

beforeEach(async () => {
  // Request ids have the time of the machine.
  const clock = new ManualClock(Date.now() - HOUR_MS);
  const place = await makePlace({ SV_EGRESS_ALLOW: '127.0.0.0/8' });
  service = await serveOn(place, clock, jobs);
  webhook = await startFaultyWebhook(clock);
  [listed, asked] = [[], 0];
  webhook.fault = (_path, sent) => {
    if (!sent.includes('"audit.list"') || sent.includes('"audit.append"')) return undefined;
    asked += 1;
    const head = { epoch: 'first', seq: listed.length, hash: 'h' };
    return { status: 200, body: JSON.stringify({ items: listed.toReversed(), head }) };
  };
});
afterEach(async () => {
  await webhook.shut();
  await service.stop();
});

const bind = async (): Promise<void> =>
  expect(await service.admin('POST', '/api/webhook/bind', { body: webhook.offer() })).toMatchObject({
    status: 201,
  });
async function restart(): Promise<void> {
  await service.running.close();
  service = await serveOn(service.place, service.clock, jobs);
}
/** @param atMs of the request, from now */
function list(atMs: number, more: object = {}, suffix = ''): string {
  const requestId = newTimeOrderedId('req', Date.now() + atMs);
  listed.push({
    id: newId('evt'),
    seq: listed.length + 1,
    source: 'webhook',
    eventType: 'CREDENTIAL_INJECTED',
    timestamp: formatTime(Date.now() + atMs),
    outcome: 'success',
    proxyId: newId('prx'),
    serviceName: 'github',
    detail: { jti: requestId + suffix },
    ...more,
  });
  return requestId;
}
const uses = async () =>
  (await stepsOn(service.running.url, service.admin).log()).filter(
    ({ eventType }) => eventType === 'PROXY_CREDENTIAL_USE',
  );

test('of the uses that a webhook invents, those between its binding and the start are written, once each', async () => {
  await bind();
  service.clock.advance(HOUR_MS);
  list(-2 * HOUR_MS);
  list(-30 * MINUTE_MS, { source: 'service' });
  list(-30 * MINUTE_MS, { outcome: 'error' });
  list(-30 * MINUTE_MS, { proxyId: newId('agt') });
  list(-30 * MINUTE_MS, { detail: { jti: '../req_x' } });
  const requestId = list(-30 * MINUTE_MS, { proxyId: 'prx_AAAAAAAAAAAAAAAAAAAAAA' }, '-2');
  listed.push({ ...listed.at(-1), detail: { jti: requestId } });
  list(30 * MINUTE_MS);
  for (let starts = 0; starts < 2; starts++) {
    await restart();
    await jobs.run('missed uses');
    const written = await uses();
    expect(written).toHaveLength(1);
    expect(written[0]).toMatchObject({
      proxyId: 'prx_AAAAAAAAAAAAAAAAAAAAAA',
      detail: { recovered: true },
      origin: { requestId, channel: 'proxy' },
    });
    expect(written[0]).not.toHaveProperty('proxyName');
  }
  expect(asked).toBe(2);
});

test('a webhook that is bound after the start is not asked, since nothing of it can be lost', async () => {
  service.clock.advance(HOUR_MS + 30 * MINUTE_MS);
  await bind();
  list(0);
  await jobs.run('missed uses');
  await jobs.run('audit shipping');
  await expect.poll(() => webhook.received.length).toBeGreaterThan(0);
  expect([asked, await uses()]).toEqual([0, []]);
});
