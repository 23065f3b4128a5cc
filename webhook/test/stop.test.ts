import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger } from '@svault/server-kit/logger';
import { LogSink } from '@svault/test-kit/log-sink';
import { type BoundWebhook, boundWebhook } from './support/bound-webhook.ts';
import { openCall, putProxy, readWhole } from './support/proxy-calls.ts';
import { startUpstream } from './support/upstream.ts';

const log = new LogSink();
let webhook: BoundWebhook;
/** What a webhook that is told to stop waits for before it takes no more requests. */
let drained: PromiseWithResolvers<void>;
let drainMs: number | undefined;
beforeEach(async () => {
  const logger = createLogger({ name: 'webhook', level: 'error', format: 'json', destination: log });
  drained = Promise.withResolvers();
  webhook = await boundWebhook({
    logger,
    env: { SV_EGRESS_ALLOW: '127.0.0.1/32', SV_DRAIN_SECONDS: '3' },
    drain: (ms) => {
      drainMs = ms;
      return drained.promise;
    },
  });
});
afterEach(() => {
  drained.resolve();
  return webhook.remove();
});

test('a webhook whose last write fails releases everything, and reports the failure', async () => {
  const db = new Database(join(webhook.dataDir, 'webhook.db'));
  // As a full disk would, this refuses the floor that is written at a stop.
  db.exec(`CREATE TRIGGER refused BEFORE INSERT ON time_floor BEGIN SELECT RAISE(ABORT, 'no room'); END`);
  const { url } = webhook;
  drained.resolve();
  await webhook.stop();
  expect(log.text).toContain('no room');
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  db.exec('DROP TRIGGER refused');
  db.close();
  await webhook.restart();
  expect((await webhook.signed('/v1/health')).status).toBe(200);
});

test('a webhook that is about to stop is not ready, and serves until its drain time has passed', async () => {
  const { url } = webhook;
  expect((await webhook.send('/readyz')).status).toBe(200);
  const stopped = webhook.stop();
  const { status, json, headers } = await webhook.send('/readyz');
  expect([status, json.code, headers.get('connection')]).toEqual([503, 'UNAVAILABLE', 'close']);
  for (const answer of [
    await webhook.send('/healthz'),
    await webhook.store('github', { tokenType: 'PlainText', value: 'v' }),
    await webhook.credential('github'),
  ])
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
  expect(drainMs).toBe(3_000);
  drained.resolve();
  await stopped;
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
});

test('a stream in progress ends in order at the stop, and the use of its credential is in the log', async () => {
  const upstream = await startUpstream((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  });
  try {
    await webhook.store('api', {
      tokenType: 'PlainText',
      value: 'tkn_of_a_stream_0189',
      allowedHosts: [upstream.url],
    });
    await putProxy(webhook, `${upstream.url}/sse`);
    const stream = await openCall(webhook, { method: 'GET' });
    drained.resolve();
    await webhook.stop();
    expect((await readWhole(stream)).body.toString()).toBe('data: 1\n\n');
    expect(stream.complete).toBe(true);
    await webhook.restart();
    const { json } = await webhook.storage({ op: 'audit.list', serviceName: 'api' });
    expect(json.items.map(({ eventType }: { eventType: string }) => eventType)).toContain(
      'CREDENTIAL_INJECTED',
    );
  } finally {
    await upstream.close();
  }
});
