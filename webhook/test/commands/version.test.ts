import { createLogger } from '@svault/server-kit/logger';
import { VERSION } from '@svault/server-kit/version';
import { ManualClock } from '@svault/shared';
import { LogSink } from '@svault/test-kit/log-sink';
import { expect, test } from 'vitest';
import { webhookOfTest } from '../support/bound-webhook.ts';
import { command } from '../support/run-webhook.ts';

test('--version prints the version, and needs no settings', async () => {
  expect(await command({ env: {} }, '--version')).toEqual({
    code: 0,
    stdout: `webhook ${VERSION}\n`,
    stderr: '',
  });
});

test('the log and the signed health check say the version, and no answer without authentication does', async () => {
  const log = new LogSink();
  const logger = createLogger({ name: 'webhook', level: 'info', format: 'json', destination: log });
  const webhook = await webhookOfTest({ clock: new ManualClock(Date.now()), logger });
  expect(log.text).toMatch(new RegExp(`"version":"${VERSION}".*the webhook listens`));
  expect((await webhook.signed('/v1/health')).json.version).toBe(`svault/${VERSION}`);
  for (const path of ['/healthz', '/readyz', '/v1/health', '/bind', '/']) {
    const { text, headers } = await webhook.send(path);
    expect([path, text, JSON.stringify([...headers])]).not.toContainEqual(expect.stringContaining(VERSION));
  }
});
