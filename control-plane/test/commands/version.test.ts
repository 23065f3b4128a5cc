import { createLogger } from '@svault/server-kit/logger';
import { VERSION } from '@svault/server-kit/version';
import { LogSink } from '@svault/test-kit/log-sink';
import { expect, onTestFinished, test } from 'vitest';
import { controlPlaneConfig } from '../../src/config/config.ts';
import { startControlPlane } from '../../src/serve.ts';
import { clientOf, makePlace } from '../support/management-service.ts';
import { command } from '../support/run-program.ts';

test('--version prints the version, and needs no settings', async () => {
  expect(await command({}, '--version')).toEqual({
    code: 0,
    stdout: `control-plane ${VERSION}\n`,
    stderr: '',
  });
});

test('the log says the version at the start, and no answer without authentication does', async () => {
  const place = await makePlace();
  onTestFinished(() => place.remove());
  const log = new LogSink();
  const logger = createLogger({ name: 'control-plane', level: 'info', format: 'json', destination: log });
  const running = await startControlPlane(controlPlaneConfig(place.env), { logger });
  onTestFinished(() => running.close());
  expect(log.text).toMatch(new RegExp(`"version":"${VERSION}".*control plane serves`));
  const anyone = clientOf(running.url);
  for (const path of [
    '/healthz',
    '/readyz',
    '/api/webhook',
    '/api/openapi.json',
    '/.well-known/oauth-authorization-server',
  ]) {
    const { text, headers } = await anyone('GET', path);
    expect([path, text + JSON.stringify([...headers])]).not.toContainEqual(expect.stringContaining(VERSION));
  }
});
