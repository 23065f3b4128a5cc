import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { newKey } from '@svault/shared';
import { beforeEach, describe, expect, test } from 'vitest';
import { type CommandLine, type Outcome, someone } from './command-line.ts';
import { type FakeServer, fakeServer } from './fake-servers.ts';

// The control plane says where a secret goes. A compromised control plane could name a server of its attacker.

const TICKET = 'the.store.ticket';
const TIME = '2026-11-20T12:00:00.000Z';
const TOKEN_METADATA = {
  serviceName: 'github',
  tokenType: 'PlainText',
  displayName: '',
  description: '',
  notes: '',
  tags: [],
  createdAt: TIME,
  updatedAt: TIME,
};
let vault: FakeServer;
let evil: FakeServer;
let service: FakeServer;
let person: CommandLine;
/** The address of the webhook in responses of the control plane. */
let named: string;

function answerTo(method: string, path: string): object {
  const store = { url: named, ticket: TICKET, expiresAt: TIME };
  if (path === '/api/me') return { email: 'o@example.org', role: 'admin' };
  if (path === '/api/webhook')
    return { bound: true, url: named.replace(/\/v1\/store$/, ''), reachable: true };
  if (path.endsWith('/store-ticket')) return store;
  return method === 'GET' ? TOKEN_METADATA : { token: {}, store };
}
const controlPlane = (): Promise<FakeServer> =>
  fakeServer(({ method, path }) => ({ body: answerTo(method, path) }));

beforeEach(async () => {
  const webhook = () => fakeServer(() => ({ body: { serviceName: 'github', version: 1 } }));
  [vault, evil, service] = await Promise.all([webhook(), webhook(), controlPlane()]);
  named = `${vault.url}/v1/store`;
  person = someone();
});

const signIn = async (name = 'me', at = service): Promise<void> => {
  const args = ['login', '--key', '-', '--as', name, '--base-url', at.url];
  expect(await person.svault(args, { input: newKey('svadmin') })).toMatchObject({ code: 0 });
};
const store = (env: Record<string, string> = {}, ...more: readonly string[]): Promise<Outcome> =>
  person.svault(['add', 'github', ...more], { input: 'the-secret', env });
/** Has the control plane name another webhook before it stores. */
const storeAt = (at: FakeServer, env?: Record<string, string>, ...more: string[]): Promise<Outcome> => {
  named = `${at.url}/v1/store`;
  return store(env, ...more);
};
const codeOf = async (outcome: Promise<Outcome>): Promise<number> => (await outcome).code;
const kept = (): string => join(person.dir, 'webhooks.json');
const MOVED = /is at http:\S+ now; secrets went to http:\S+ before/;

test('add sends the secret with the ticket alone, to the address that the control plane names', async () => {
  await signIn();
  expect(await store()).toMatchObject({ code: 0 });
  const body = JSON.stringify({ tokenType: 'PlainText', value: 'the-secret' });
  const headers = { authorization: `Bearer ${TICKET}` };
  expect(vault.received).toMatchObject([{ method: 'POST', path: '/v1/store', headers, body }]);
});

test('the first webhook is remembered, and another one gets no secret', async () => {
  await signIn();
  expect((await store()).err).toMatch(/go to http:\/\/127\.0\.0\.1:\d+ from now on/);
  expect(statSync(kept()).mode & 0o777).toBe(0o600);
  expect(readFileSync(kept(), 'utf8')).toContain(vault.url);
  expect((await store()).err).not.toMatch(/from now on/);

  const { code, out, err } = await storeAt(evil);
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(new RegExp(`${MOVED.source}\\. No secret was sent`));
  expect(err).not.toContain('the-secret');
  expect(evil.received).toEqual([]);
});

test('SVAULT_WEBHOOK_URL allows the new address of a webhook that moved', async () => {
  await signIn();
  await store();
  expect(await codeOf(storeAt(evil, { SVAULT_WEBHOOK_URL: vault.url }))).toBe(1);
  expect(await codeOf(store({ SVAULT_WEBHOOK_URL: `${evil.url}/` }))).toBe(0);
  expect(await codeOf(store())).toBe(0);
  expect(evil.received).toHaveLength(2);
});

/** Runs `svault add` at a terminal with this answer to each question. */
async function atTerminal(answer: string, env: Record<string, string> = {}) {
  const file = join(person.dir, 'secret');
  writeFileSync(file, 'the-secret');
  const stdin = new PassThrough();
  let asked = 0;
  const onErr = (shown: string): void => {
    const questions = shown.split('[y/N] ').length - 1;
    for (; asked < questions; asked += 1) stdin.write(`${answer}\n`);
  };
  const args = ['add', 'github', '--from-file', file];
  const outcome = await person.svault(args, { env, isPerson: true, columns: 80, onErr, stdin });
  return { ...outcome, asked };
}

test.each([
  ['y', 0, 1],
  ['n', 130, 0],
  ['', 130, 0],
])('a person who is asked whether it moved, and answers %j: exit %i', async (answer, exit, stores) => {
  await signIn();
  await store();
  named = `${evil.url}/v1/store`;
  const { code, err } = await atTerminal(answer);
  expect({ code, sent: evil.received.length }).toEqual({ code: exit, sent: stores });
  expect(err).toMatch(MOVED);
});

test('the webhook of each control plane is remembered apart', async () => {
  await signIn();
  await store();
  await signIn('other', await controlPlane());
  for (const [login, to, isFirst] of [
    ['other', evil, true],
    ['me', vault, false],
    ['other', evil, false],
  ] as const) {
    const before = to.received.length;
    const { code, err } = await storeAt(to, {}, '--context', login);
    expect({ code, isFirst: err.includes('from now on') }).toEqual({ code: 0, isFirst });
    expect(to.received).toHaveLength(before + 1);
  }
});

test('the webhooks of two logins at one control plane are remembered apart, since the vaults may differ', async () => {
  await signIn();
  await store();
  await signIn('second');
  const storedBy = (login: string, at: FakeServer, env = {}): Promise<number> =>
    codeOf(storeAt(at, env, '--context', login));
  expect(await storedBy('second', evil)).toBe(1);
  expect(await storedBy('second', evil, { SVAULT_WEBHOOK_URL: evil.url })).toBe(0);
  expect(await storedBy('me', vault)).toBe(0);
  expect(await storedBy('second', evil)).toBe(0);
  expect(await storedBy('me', evil)).toBe(1);

  await signIn('third');
  expect((await storeAt(vault, {}, '--context', 'third')).err).toMatch(/^github is stored at [^\n]+\n$/);
});

describe('with SVAULT_KEY', () => {
  let env: Record<string, string>;
  beforeEach(() => {
    env = { SVAULT_KEY: newKey('svadmin'), SVAULT_BASE_URL: service.url };
  });

  test.each(['add', 'set', 'tokens store-ticket'])(
    'svault %s gives an unknown webhook nothing, and prints the line that allows it',
    async (words) => {
      const args = [...words.split(' '), 'github'];
      const denied = await person.svault(args, { input: 'the-secret', env });
      expect(denied).toMatchObject({ code: 1, out: '' });
      const [, SVAULT_WEBHOOK_URL = ''] = /export SVAULT_WEBHOOK_URL=(\S+)\n$/.exec(denied.err) ?? [];
      expect(SVAULT_WEBHOOK_URL).toBe(vault.url);
      expect(denied.err).not.toMatch(new RegExp(`the-secret|${TICKET}`));
      expect(vault.received).toEqual([]);
      expect(service.received.filter(({ path }) => path === '/api/tokens')).toEqual([]);

      const allowed = { ...env, SVAULT_WEBHOOK_URL };
      expect(await person.svault(args, { input: 'the-secret', env: allowed })).toMatchObject({ code: 0 });
    },
  );

  test('the address that SVAULT_WEBHOOK_URL said is remembered for the key, and another one gets nothing', async () => {
    expect(await codeOf(store({ ...env, SVAULT_WEBHOOK_URL: `${vault.url}/` }))).toBe(0);
    expect(await codeOf(store(env))).toBe(0);
    expect(await codeOf(store({ ...env, SVAULT_BASE_URL: `${service.url}/` }))).toBe(0);
    expect(readFileSync(kept(), 'utf8')).not.toContain(env['SVAULT_KEY']?.slice(8, 16));
    expect(statSync(kept()).mode & 0o777).toBe(0o600);

    const denied = await storeAt(evil, env);
    expect(denied.code).toBe(1);
    expect(denied.err).toMatch(new RegExp(`${MOVED.source}\\. No secret was sent`));
    expect(await codeOf(store({ ...env, SVAULT_WEBHOOK_URL: vault.url }))).toBe(1);
    expect(evil.received).toEqual([]);
    expect(vault.received).toHaveLength(3);
  });

  test('another key of the same control plane may be of another account: each keeps its own address', async () => {
    const other = { ...env, SVAULT_KEY: newKey('svadmin') };
    expect(await codeOf(store({ ...env, SVAULT_WEBHOOK_URL: vault.url }))).toBe(0);
    expect(await codeOf(storeAt(evil, other))).toBe(1);
    expect(await codeOf(store({ ...other, SVAULT_WEBHOOK_URL: evil.url }))).toBe(0);
    expect(await codeOf(store(other))).toBe(0);
    expect(await codeOf(store(env))).toBe(1);
    expect(await codeOf(storeAt(vault, env))).toBe(0);
  });

  test('the address of a login that is kept for the same control plane counts', async () => {
    await signIn();
    await store();
    expect(await codeOf(store(env))).toBe(0);
    expect(await codeOf(storeAt(evil, env))).toBe(1);
    expect(evil.received).toEqual([]);
  });

  test.each([
    ['y', 0, 1],
    ['n', 130, 0],
  ])(
    'a person is shown an unknown address and asked once, and answers %j: exit %i',
    async (answer, code, stores) => {
      expect(await atTerminal(answer, env)).toMatchObject({ code, asked: 1 });
      expect(vault.received).toHaveLength(stores);
      expect(await atTerminal('n', env)).toMatchObject({ code, asked: 1 - stores });
    },
  );

  test('a machine without a folder to write to says the address each time', async () => {
    const folder = join(person.dir, 'nothing');
    writeFileSync(folder, '');
    const nowhere = { ...env, SVAULT_CONFIG_DIR: join(folder, 'svault') };
    expect(await codeOf(store({ ...nowhere, SVAULT_WEBHOOK_URL: vault.url }))).toBe(0);
    expect(await codeOf(store(nowhere))).toBe(1);
    expect(vault.received).toHaveLength(1);
  });

  test.each(['vault', 'http://vault.example', 'https://vault.example/?x', 'https://vault.example/#x'])(
    'SVAULT_WEBHOOK_URL=%s is not the address of a webhook',
    async (SVAULT_WEBHOOK_URL) => {
      expect(await codeOf(store({ ...env, SVAULT_WEBHOOK_URL }))).toBe(2);
      expect(vault.received).toEqual([]);
    },
  );

  test('no debug output shows the ticket or the secret', async () => {
    const { code, err } = await store({ ...env, SVAULT_WEBHOOK_URL: vault.url }, '--debug');
    expect(code).toBe(0);
    for (const secret of ['the-secret', TICKET, env['SVAULT_KEY']?.slice(8)])
      expect(err).not.toContain(secret);
  });

  test('Ctrl-C in the middle of a store says what may be left to do', async () => {
    const stop = new AbortController();
    const slow = await fakeServer(() => {
      stop.abort();
      return { body: {} };
    });
    named = `${slow.url}/v1/store`;
    const slowly = { ...env, SVAULT_WEBHOOK_URL: slow.url };
    const options = { input: 'x', env: slowly, signal: stop.signal };
    const err = 'github is created, but its secret may not be stored; svault set github stores it\n';
    expect(await person.svault(['add', 'github'], options)).toEqual({ code: 130, out: '', err });
  });
});

describe('a credential is fetched from the webhook that is known', () => {
  let cheat: FakeServer;
  let pointing: FakeServer;
  beforeEach(async () => {
    const token = { ...TOKEN_METADATA, accessToken: 'the-credential' };
    cheat = await fakeServer(() => ({ body: { token } }));
    const url = `${cheat.url}/v1/credential?ticket=${TICKET}`;
    pointing = await fakeServer(({ method, path, headers }) => {
      if (headers.authorization?.includes('svagent_') === true)
        return { status: 307, headers: { location: url } };
      const isTicket = path.endsWith('/credential-ticket');
      return { body: isTicket ? { url, expiresAt: TIME } : answerTo(method, path) };
    });
  });
  const get = (SVAULT_KEY: string, env: Record<string, string> = {}): Promise<Outcome> =>
    person.svault(['get', 'github'], { env: { SVAULT_BASE_URL: pointing.url, SVAULT_KEY, ...env } });

  test('an agent needs no address, and is held to one that SVAULT_WEBHOOK_URL says', async () => {
    const key = newKey('svagent');
    expect(await get(key)).toMatchObject({ code: 0, out: 'the-credential' });
    expect(await codeOf(get(key, { SVAULT_WEBHOOK_URL: cheat.url }))).toBe(0);
    const err = expect.stringMatching(/Nothing was fetched/) as string;
    expect(await get(key, { SVAULT_WEBHOOK_URL: vault.url })).toEqual({ code: 1, out: '', err });
    expect(cheat.received).toHaveLength(2);
  });

  test('an owner’s login is held to the address that it stored at', async () => {
    const SVAULT_KEY = newKey('svadmin');
    expect(await codeOf(get(SVAULT_KEY))).toBe(0);
    const env = { SVAULT_BASE_URL: pointing.url, SVAULT_KEY };
    expect(await codeOf(store({ ...env, SVAULT_WEBHOOK_URL: vault.url }))).toBe(0);
    const err = expect.stringContaining(`export SVAULT_WEBHOOK_URL=${cheat.url}\n`) as string;
    expect(await get(SVAULT_KEY)).toEqual({ code: 1, out: '', err });
    expect(cheat.received).toHaveLength(1);
    expect(await codeOf(get(SVAULT_KEY, { SVAULT_WEBHOOK_URL: cheat.url }))).toBe(0);
  });
});

test.each([
  'http://vault.example/v1/store',
  'file:///v1/store',
  'https://user@vault.example/v1/store',
  'https://vault.example/v1/store?x=/v1/store',
  'https://vault.example/#/v1/store',
  'https://vault.example/v1/other',
  'https://vault.example/$(touch$IFS/tmp/x)/v1/store',
  'https://vault.example/;sh/v1/store',
  'no address',
])('a secret is not sent to %s', async (address) => {
  await signIn();
  named = address;
  const { code, out, err } = await store();
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(/which no secret is sent to/);
  expect(err).not.toContain('the-secret');
});

test('a damaged file is said, and nothing is sent', async () => {
  await signIn();
  writeFileSync(kept(), '{', { mode: 0o600 });
  expect(await store()).toMatchObject({ code: 1, err: expect.stringMatching(/webhooks\.json is damaged/) });
  expect(vault.received).toEqual([]);
});
