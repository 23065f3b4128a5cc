import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '@svault/server-kit/logger';
import { ManualClock, newId } from '@svault/shared';
import { type Egress, createEgress } from '@svault/shared/egress';
import { PROBE_EACH_MS, PROBE_LEASE_MS, createSoleProcessOutages } from '../core/shared-outages.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import { createOutageProber } from './outage-prober.ts';
import { createOutageTracker } from './outages.ts';

const vaultId = newId('vlt');

let clock: ManualClock;
let webhook: Server;
let egress: Egress;
/** Of the webhook, and those that arrived there. */
let calls: number;
let probes: number;
beforeEach(async () => {
  clock = new ManualClock();
  [calls, probes] = [0, 0];
  webhook = createServer(() => (probes += 1)).listen(0, '127.0.0.1');
  await once(webhook, 'listening');
  egress = createEgress({ allow: ['127.0.0.0/8'], connectTo: [] });
});
afterEach(async () => {
  await egress.close();
  webhook.closeAllConnections();
  webhook.close();
});

/** A webhook that is offline, and what looks for it. */
function prober() {
  const tracker = createOutageTracker(clock);
  tracker.callStarted(vaultId).failed('broken');
  const url = `http://127.0.0.1:${(webhook.address() as AddressInfo).port}`;
  const links = { find: async () => ({ url }) as WebhookLink };
  const request: Egress['request'] = (call) => {
    calls += 1;
    return egress.request(call);
  };
  const outages = createSoleProcessOutages(clock);
  const logger = silentLogger;
  return { tracker, ...createOutageProber({ tracker, outages, links, egress: { request }, logger }) };
}

test('A webhook that does not answer is asked again a second later, and is online with its first answer', async () => {
  webhook.on('request', (_, res) => res.writeHead(probes < 2 ? 503 : 200).end('{"status":"ok"}'));
  const { tick, settled, tracker } = prober();
  await tick();
  await settled();
  expect([probes, tracker.anyOffline()]).toEqual([1, true]);
  await tick();
  await settled();
  expect(probes).toBe(1);
  clock.advance(PROBE_EACH_MS);
  await tick();
  await settled();
  expect([probes, tracker.anyOffline()]).toEqual([2, false]);
});

test('A webhook that has not answered one probe yet is not sent another', async () => {
  const asked = once(webhook, 'request');
  const { tick, stop } = prober();
  await tick();
  await asked;
  clock.advance(PROBE_LEASE_MS);
  await tick();
  await setImmediate();
  expect(calls).toBe(1);
  await stop();
});
