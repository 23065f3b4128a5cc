import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { newKey } from '@svault/shared';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../src/run.ts';
import { type CommandLine, type Outcome, commandLine } from './command-line.ts';
import { type FakeServer, fakeServer } from './fake-servers.ts';

// The service says where a secret goes. One that was broken into could name a place of its own.

const TICKET = 'the.store.ticket';
let vault: FakeServer;
let evil: FakeServer;
let service: FakeServer;
let person: CommandLine;
/** What the service says the webhook's address is. */
let named: string;

const webhook = (): Promise<FakeServer> =>
  fakeServer(() => ({ status: 200, body: { serviceName: 'github', version: 1 } }));

beforeEach(async () => {
  [vault, evil] = await Promise.all([webhook(), webhook()]);
  service = await fakeServer(({ path }) => ({
    status: 200,
    body:
      path === '/api/me'
        ? {
            user: { id: 'usr_1', email: 'o@example.org', role: 'admin' },
            email: 'o@example.org',
            role: 'admin',
          }
        : { token: {}, store: { url: named, ticket: TICKET, expiresAt: '2026-11-20T12:00:00Z' } },
  }));
  named = `${vault.url}/v1/store`;
  person = commandLine();
});
afterEach(async () => {
  person.remove();
  for (const server of [vault, evil, service]) await server.close();
});

const signIn = async (): Promise<void> => {
  const args = ['login', '--key', '-', '--as', 'me', '--base-url', service.url];
  expect(await person.svault(args, { input: newKey('svadmin') })).toMatchObject({ code: 0 });
};
const store = (env: Record<string, string> = {}): Promise<Outcome> =>
  person.svault(['add', 'github'], { input: 'the-secret', env });

test('the ticket alone lets a store in, at the address that the service names', async () => {
  await signIn();
  expect(await store()).toMatchObject({ code: 0 });
  expect(vault.received).toMatchObject([
    {
      method: 'POST',
      path: '/v1/store',
      headers: { authorization: `Bearer ${TICKET}` },
      body: JSON.stringify({ tokenType: 'PlainText', value: 'the-secret' }),
    },
  ]);
});

test('the first webhook is the right one: another gets no secret', async () => {
  await signIn();
  const first = await store();
  expect(first.err).toMatch(/go to http:\/\/127\.0\.0\.1:\d+ from now on/);
  const file = join(person.dir, 'webhooks.json');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, 'utf8')).toContain(vault.url);
  expect((await store()).err).not.toMatch(/from now on/);

  named = `${evil.url}/v1/store`;
  const { code, out, err } = await store();
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(/is at http:\S+ now; secrets went to http:\S+ before\. No secret was sent/);
  expect(err).not.toContain('the-secret');
  expect(evil.received).toEqual([]);
});

test('a person can say that it moved', async () => {
  await signIn();
  await store();
  named = `${evil.url}/v1/store`;
  expect(await store({ SVAULT_WEBHOOK_URL: vault.url })).toMatchObject({ code: 1 });
  expect(await store({ SVAULT_WEBHOOK_URL: `${evil.url}/` })).toMatchObject({ code: 0 });
  expect(await store()).toMatchObject({ code: 0 });
  expect(evil.received).toHaveLength(2);
});

test.each([
  ['y', 0, 1],
  ['n', 130, 0],
  ['', 130, 0],
])('a person who is asked whether it moved, and answers %j: exit %i', async (answer, exit, stores) => {
  await signIn();
  await store();
  named = `${evil.url}/v1/store`;
  const file = join(person.dir, 'secret');
  writeFileSync(file, 'the-secret');
  const stdin = new PassThrough();
  let err = '';
  const code = await run(['add', 'github', '--from-file', file], {
    terminal: {
      out: () => undefined,
      err: (text) => {
        err += text;
        if (text.includes('[y/N]')) stdin.write(`${answer}\n`);
      },
      stdin,
      interactive: { in: true, out: true, err: true },
      columns: 80,
    },
    env: { SVAULT_CONFIG_DIR: person.dir, SVAULT_KEYCHAIN: 'off' },
    signal: new AbortController().signal,
  });
  expect({ code, sent: evil.received.length }).toEqual({ code: exit, sent: stores });
  expect(err).toMatch(/is at http:\S+ now; secrets went to http:\S+ before/);
});

test('each service has its own webhook', async () => {
  await signIn();
  await store();
  const other = await fakeServer(({ path }) =>
    path === '/api/me'
      ? { status: 200, body: { email: 'o@example.org' } }
      : {
          status: 200,
          body: {
            token: {},
            store: { url: `${evil.url}/v1/store`, ticket: TICKET, expiresAt: '2026-11-20T12:00:00Z' },
          },
        },
  );
  try {
    const args = ['login', '--key', '-', '--as', 'other', '--base-url', other.url];
    expect(await person.svault(args, { input: newKey('svadmin') })).toMatchObject({ code: 0 });
    for (const [login, to, isFirst] of [
      ['other', evil, true],
      ['me', vault, false],
      ['other', evil, false],
    ] as const) {
      const before = to.received.length;
      const { code, err } = await person.svault(['add', 'github', '--context', login], { input: 'x' });
      expect({ code, isFirst: err.includes('from now on') }).toEqual({ code: 0, isFirst });
      expect(to.received).toHaveLength(before + 1);
    }
  } finally {
    await other.close();
  }
});

test('two logins at one service may be of two vaults: each is asked about once, and keeps to its own', async () => {
  await signIn();
  await store();
  const args = ['login', '--key', '-', '--as', 'second', '--base-url', service.url];
  expect(await person.svault(args, { input: newKey('svadmin') })).toMatchObject({ code: 0 });
  const storedBy = (login: string, at: FakeServer, env = {}): Promise<Outcome> => {
    named = `${at.url}/v1/store`;
    return person.svault(['add', 'github', '--context', login], { input: 'the-secret', env });
  };
  expect(await storedBy('second', evil)).toMatchObject({ code: 1 });
  expect(await storedBy('second', evil, { SVAULT_WEBHOOK_URL: evil.url })).toMatchObject({ code: 0 });
  expect(await storedBy('me', vault)).toMatchObject({ code: 0 });
  expect(await storedBy('second', evil)).toMatchObject({ code: 0 });
  expect(await storedBy('me', evil)).toMatchObject({ code: 1 });

  const third = ['login', '--key', '-', '--as', 'third', '--base-url', service.url];
  expect(await person.svault(third, { input: newKey('svadmin') })).toMatchObject({ code: 0 });
  expect((await storedBy('third', vault)).err).toMatch(/^github is stored at [^\n]+\n$/);
});

test('machines say where it is; of their logins nothing is kept', async () => {
  const env = { SVAULT_KEY: newKey('svadmin'), SVAULT_BASE_URL: service.url };
  expect(await store({ ...env, SVAULT_WEBHOOK_URL: vault.url })).toMatchObject({ code: 0 });
  expect(await store({ ...env, SVAULT_WEBHOOK_URL: evil.url })).toMatchObject({ code: 1 });
  for (const wrong of ['vault', 'http://vault.example', `${vault.url}/?x`, `${vault.url}/#x`])
    expect(await store({ ...env, SVAULT_WEBHOOK_URL: wrong })).toMatchObject({ code: 2 });
  expect(vault.received).toHaveLength(1);
  expect(() => statSync(join(person.dir, 'webhooks.json'))).toThrow(/ENOENT/);
});

test.each([
  'http://vault.example/v1/store',
  'file:///v1/store',
  'https://user@vault.example/v1/store',
  'https://vault.example/v1/store?x=/v1/store',
  'https://vault.example/#/v1/store',
  'https://vault.example/v1/other',
  'no address',
])('a secret is not sent to %s', async (address) => {
  named = address;
  const { code, out, err } = await store({ SVAULT_KEY: newKey('svadmin'), SVAULT_BASE_URL: service.url });
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(/which no secret is sent to/);
  expect(err).not.toContain('the-secret');
});

test('no debug output shows the ticket or the secret', async () => {
  const env = { SVAULT_KEY: newKey('svadmin'), SVAULT_BASE_URL: service.url };
  const { code, err } = await person.svault(['add', 'github', '--debug'], { input: 'the-secret', env });
  expect(code).toBe(0);
  for (const secret of ['the-secret', TICKET, env.SVAULT_KEY.slice(8)]) expect(err).not.toContain(secret);
});

test('a damaged file is said, and nothing is sent', async () => {
  await signIn();
  writeFileSync(join(person.dir, 'webhooks.json'), '{', { mode: 0o600 });
  expect(await store()).toMatchObject({ code: 1, err: expect.stringMatching(/webhooks\.json is damaged/) });
  expect(vault.received).toEqual([]);
});

test('Ctrl-C in the middle of a store says what may be left to do', async () => {
  const stop = new AbortController();
  const slow = await fakeServer(() => {
    stop.abort();
    return { status: 200, body: {} };
  });
  named = `${slow.url}/v1/store`;
  const env = { SVAULT_KEY: newKey('svadmin'), SVAULT_BASE_URL: service.url };
  const outcome = await person.svault(['add', 'github'], { input: 'x', env, signal: stop.signal });
  await slow.close();
  expect(outcome).toEqual({
    code: 130,
    out: '',
    err: 'github is named, and its secret may not be stored; svault set github stores it\n',
  });
});
