import { newKey } from '@svault/shared';
import { beforeEach, describe, expect, test } from 'vitest';
import { type CommandLine, type Outcome, someone } from './command-line.ts';
import { type FakeServer, fakeServer } from './fake-servers.ts';

// The reference webhook claims everything; webhooks of other authors do not.

const TIME = '2026-11-20T12:00:00.000Z';
const SEED = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
let webhook: FakeServer;
let controlPlane: FakeServer;
let person: CommandLine;
let view: object;
/** What the webhook answers to a store. */
let stored: { readonly status?: number; readonly body: object };

function answerTo(method: string, path: string): object {
  const store = { url: `${webhook.url}/v1/store`, ticket: 'the.store.ticket', expiresAt: TIME };
  if (path === '/api/webhook') return { bound: true, url: webhook.url, ...view };
  if (path.endsWith('/store-ticket')) return store;
  const held = { serviceName: 'otp', tokenType: 'TOTP', createdAt: TIME, updatedAt: TIME };
  const token = { ...held, displayName: '', description: '', notes: '', tags: [] };
  return method === 'GET' ? token : { token: {}, store };
}

beforeEach(async () => {
  view = { reachable: true, capabilities: ['storage', 'credential', 'store'] };
  stored = { body: { serviceName: 'otp', version: 1 } };
  webhook = await fakeServer(() => stored);
  controlPlane = await fakeServer(({ method, path }) => ({ body: answerTo(method, path) }));
  person = someone();
});

const svault = (...args: readonly string[]): Promise<Outcome> =>
  person.svault(args, {
    input: SEED,
    env: {
      SVAULT_BASE_URL: controlPlane.url,
      SVAULT_WEBHOOK_URL: webhook.url,
      SVAULT_KEY: newKey('svadmin'),
    },
  });
const changes = (): readonly string[] => controlPlane.asked().filter((each) => !each.startsWith('GET '));

describe('a webhook that does not claim what a record takes', () => {
  const AWS = ['minter.type=aws-sts', 'minter.accessKeyId=AKIAIOSFODNN7EXAMPLE'];
  test.each([
    ['TOTP', ['add', 'otp', '--type', 'TOTP']],
    ['TOTP', ['set', 'otp', '--type', 'TOTP']],
    ['approvals by passkey', ['add', 'api', '--require-approval', 'credential']],
    ['rules for requests', ['add', 'api', '--allow-host', 'a.example', '--allow-request', 'GET /**']],
    [
      'the minter aws-sts',
      ['add', 'cloud', '--type', 'RawCredential', ...AWS.flatMap((each) => ['--field', each])],
    ],
  ])('%s: %j is refused before anything is named or sent', async (called, args) => {
    const { code, out, err } = await svault(...args);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(
      `error: your webhook does not support ${called} (it claims storage, credential, store); nothing was stored\n`,
    );
    expect([changes(), webhook.received]).toEqual([[], []]);
  });

  test('is asked where what it claims is not known for sure', async () => {
    view = { reachable: false, capabilities: ['store'] };
    expect(await svault('add', 'otp', '--type', 'TOTP')).toMatchObject({ code: 0 });
    view = { reachable: true };
    expect(await svault('add', 'otp', '--type', 'TOTP')).toMatchObject({ code: 0 });
    expect(webhook.received).toHaveLength(2);
  });

  test('is not asked about what every webhook with store takes', async () => {
    expect(await svault('add', 'github')).toMatchObject({ code: 0 });
    expect(controlPlane.asked()).not.toContain('GET /api/webhook');
  });
});

test('add says that a secret was not stored where the webhook refused it, and what to do', async () => {
  stored = { status: 400, body: { error: 'no', code: 'INVALID_REQUEST' } };
  const { code, err } = await svault('add', 'github');
  expect(code).toBe(1);
  expect(err).toMatch(
    /github is created, but its secret was not stored: .*; mend that and store it with svault set github, or remove the name with svault rm github/,
  );
});

test('add leaves open whether a secret was stored where the webhook failed', async () => {
  stored = { status: 500, body: { error: 'no', code: 'INTERNAL' } };
  expect((await svault('add', 'github')).err).toMatch(
    /github is created, but its secret may not be stored: /,
  );
});
