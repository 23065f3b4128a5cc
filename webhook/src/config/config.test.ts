import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { SettingsError } from '@svault/server-kit/settings';
import { toBase64url } from '@svault/shared';
import { webhookConfig } from './config.ts';

const KEY = toBase64url(randomBytes(32));
const ENV = {
  SV_WEBHOOK_URL: 'https://hook.test',
  SV_WEBHOOK_SERVICE_URL: 'https://service.test',
  SV_WEBHOOK_MASTER_KEY: KEY,
};

function problems(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    webhookConfig(env);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}

describe('webhookConfig', () => {
  it('has defaults for all settings but the required ones', () => {
    expect(webhookConfig(ENV)).toMatchObject({
      listen: { host: '127.0.0.1', port: 8090 },
      dataDir: '.svault/webhook',
      masterKey: { kind: 'key' },
      egressAllow: [],
      drainSeconds: 0,
      metricsListen: undefined,
    });
  });

  it('lists everything that is missing at once', () => {
    expect(problems({}).join('\n')).toMatch(/SV_WEBHOOK_URL is missing[^]*SV_WEBHOOK_SERVICE_URL is missing/);
  });

  it.each([
    ['SV_WEBHOOK_URL', { SV_WEBHOOK_URL: 'https://hook.test/a%20b' }],
    ['SV_WEBHOOK_URL', { SV_WEBHOOK_URL: 'https://HOOK.test' }],
    ['SV_WEBHOOK_URL', { SV_WEBHOOK_URL: 'https://hook.test:443' }],
    ['SV_WEBHOOK_MASTER_KEY', { SV_WEBHOOK_MASTER_KEY: KEY.slice(1) }],
    ['SV_WEBHOOK_MASTER_KEY', { SV_WEBHOOK_MASTER_KEY: undefined }],
    ['SV_WEBHOOK_MASTER_KEY', { SV_WEBHOOK_PASSPHRASE: 'long enough a phrase' }],
    ['SV_WEBHOOK_PASSPHRASE', { SV_WEBHOOK_MASTER_KEY: undefined, SV_WEBHOOK_PASSPHRASE: 'short' }],
    ['SV_WEBHOOK_SETUP_TOKEN', { SV_WEBHOOK_SETUP_TOKEN: 'guessable' }],
    ['SV_AWS_STS_ENDPOINT', { SV_AWS_STS_ENDPOINT: 'https://user:x@sts.test' }],
    ['SV_AWS_STS_ENDPOINT', { SV_AWS_STS_ENDPOINT: 'https://sts.test?region=x' }],
    ['SV_AWS_STS_ENDPOINT', { SV_AWS_STS_ENDPOINT: 'https://sts.test.' }],
    ['SV_AWS_STS_ENDPOINT', { SV_AWS_STS_ENDPOINT: 'file:///sts' }],
    ['SV_BACKUP_RECIPIENTS', { SV_BACKUP_RECIPIENTS: 'ssh-ed25519 AAAA' }],
    ['SV_BACKUP_RECIPIENTS', { SV_BACKUP_RECIPIENTS: 'age1qqq,AGE1QQQ' }],
    ['SV_DRAIN_SECONDS', { SV_DRAIN_SECONDS: '31' }],
    ['SV_DRAIN_SECONDS', { SV_DRAIN_SECONDS: '1.5' }],
    ['SV_WEBHOOK_LISTENS', { SV_WEBHOOK_LISTENS: '127.0.0.1:1' }],
  ])('names an invalid %s, without its value', (name, env) => {
    const [problem, ...others] = problems({ ...ENV, ...env });
    expect(others).toEqual([]);
    expect(problem).toMatch(new RegExp(`^${name}\\b`));
    expect(problem).not.toContain(KEY.slice(1));
  });

  it('recognises the settings of the control plane', () => {
    expect(problems({ ...ENV, SV_MASTER_KEY: 'x', SV_LIMIT_KEY_REVEAL: '1' })).toEqual([]);
  });
});
