import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger } from '@svault/server-kit/logger';
import { LogSink } from '@svault/test-kit/log-sink';
import { type BoundWebhook, boundWebhook } from './bound-webhook.ts';

const log = new LogSink();
let webhook: BoundWebhook;
beforeEach(async () => {
  const logger = createLogger({ name: 'webhook', level: 'error', format: 'json', destination: log });
  webhook = await boundWebhook({ logger });
});
afterEach(() => webhook.remove());

test('a webhook whose last write fails gives everything back all the same, and says so', async () => {
  const db = new Database(join(webhook.dataDir, 'webhook.db'));
  // As a full disk would, this refuses the floor that is written at a stop.
  db.exec(`CREATE TRIGGER refused BEFORE INSERT ON time_floor BEGIN SELECT RAISE(ABORT, 'no room'); END`);
  const { url } = webhook;
  await webhook.stop();
  expect(log.text).toContain('no room');
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  db.exec('DROP TRIGGER refused');
  db.close();
  await webhook.restart();
  expect((await webhook.signed('/v1/health')).status).toBe(200);
});
