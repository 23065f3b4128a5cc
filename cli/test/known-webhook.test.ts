import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { newKey } from '@svault/shared';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { run } from '../src/run.ts';
import { type CommandLine, type Outcome, commandLine } from './command-line.ts';
import { type FakeServer, fakeServer } from './fake-servers.ts';

// The control plane says where a secret goes. A compromised control plane could name a server of its attacker.

const TICKET = 'the.store.ticket';
const TOKEN_METADATA = {
  serviceName: 'github',
  tokenType: 'PlainText',
  displayName: '',
  description: '',
  notes: '',
  tags: [],
  createdAt: '2026-11-20T12:00:00.000Z',
  updatedAt: '2026-11-20T12:00:00.000Z',
};
const OWNER = { email: 'o@example.org', role: 'admin' };
let vault: FakeServer;
let evil: FakeServer;
let service: FakeServer;
let person: CommandLine;
/** The address of the webhook in responses of the control plane. */
let named: string;

const webhook = (): Promise<FakeServer> =>
  fakeServer(() => ({ status: 200, body: { serviceName: 'github', version: 1 } }));

function answerTo(method: string, path: string): object {
  const store = { url: named, ticket: TICKET, expiresAt: '2026-11-20T12:00:00Z' };
  if (path === '/api/me') return { user: { id: 'usr_1', ...OWNER }, ...OWNER };
  if (path === '/api/webhook')
    return { bound: true, url: named.replace(/\/v1\/store$/, ''), reachable: true };
  if (path.endsWith('/store-ticket')) return store;
  return method === 'GET' ? TOKEN_METADATA : { token: {}, store };
}

beforeEach(async () => {
  [vault, evil] = await Promise.all([webhook(), webhook()]);
  service = await fakeServer(({ method, path }) => ({ status: 200, body: answerTo(method, path) }));
  named = `${vault.url}/v1/store`;
  person = commandLine();
});
afterEach(async () => {
  person.remove();
  for (const server of [vault, evil, service]) await server.close();
});

const signIn = async (name = 'me', at = service): Promise<void> => {
  const args = ['login', '--key', '-', '--as', name, '--base-url', at.url];
  expect(await person.svault(args, { input: newKey('svadmin') })).toMatchObject({ code: 0 });
};
const store = (env: Record<string, string> = {}): Promise<Outcome> =>
  person.svault(['add', 'github'], { input: 'the-secret', env });

test('add sends the secret with the ticket alone, to the address that the control plane names', async () => {
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

test('the first webhook is remembered, and another one gets no secret', async () => {
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

test('SVAULT_WEBHOOK_URL allows the new address of a webhook that moved', async () => {
  await signIn();
  await store();
  named = `${evil.url}/v1/store`;
  expect(await store({ SVAULT_WEBHOOK_URL: vault.url })).toMatchObject({ code: 1 });
  expect(await store({ SVAULT_WEBHOOK_URL: `${evil.url}/` })).toMatchObject({ code: 0 });
  expect(await store()).toMatchObject({ code: 0 });
  expect(evil.received).toHaveLength(2);
});

/** Runs a command on a terminal with this answer to each question. */
async function atTerminal(
  args: readonly string[],
  answer: string,
  env: Record<string, string> = {},
): Promise<{ code: number; err: string; asked: number }> {
  const file = join(person.dir, 'secret');
  writeFileSync(file, 'the-secret');
  const stdin = new PassThrough();
  let err = '';
  let asked = 0;
  const code = await run([...args, '--from-file', file], {
    terminal: {
      out: () => undefined,
      err: (text) => {
        err += text;
        if (!text.includes('[y/N]')) return;
        asked += 1;
        stdin.write(`${answer}\n`);
      },
      stdin,
      interactive: { in: true, out: true, err: true },
      columns: 80,
    },
    env: { SVAULT_CONFIG_DIR: person.dir, SVAULT_KEYCHAIN: 'off', ...env },
    signal: new AbortController().signal,
  });
  return { code, err, asked };
}

test.each([
  ['y', 0, 1],
  ['n', 130, 0],
  ['', 130, 0],
])('a person who is asked whether it moved, and answers %j: exit %i', async (answer, exit, stores) => {
  await signIn();
  await store();
  named = `${evil.url}/v1/store`;
  const { code, err } = await atTerminal(['add', 'github'], answer);
  expect({ code, sent: evil.received.length }).toEqual({ code: exit, sent: stores });
  expect(err).toMatch(/is at http:\S+ now; secrets went to http:\S+ before/);
});

test('the webhook of each control plane is remembered apart', async () => {
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
    await signIn('other', other);
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

test('the webhooks of two logins at one control plane are remembered apart, since the vaults may differ', async () => {
  await signIn();
  await store();
  await signIn('second');
  const storedBy = (login: string, at: FakeServer, env = {}): Promise<Outcome> => {
    named = `${at.url}/v1/store`;
    return person.svault(['add', 'github', '--context', login], { input: 'the-secret', env });
  };
  expect(await storedBy('second', evil)).toMatchObject({ code: 1 });
  expect(await storedBy('second', evil, { SVAULT_WEBHOOK_URL: evil.url })).toMatchObject({ code: 0 });
  expect(await storedBy('me', vault)).toMatchObject({ code: 0 });
  expect(await storedBy('second', evil)).toMatchObject({ code: 0 });
  expect(await storedBy('me', evil)).toMatchObject({ code: 1 });

  await signIn('third');
  expect((await storedBy('third', vault)).err).toMatch(/^github is stored at [^\n]+\n$/);
});

describe('with SVAULT_KEY', () => {
  let env: Record<string, string>;
  beforeEach(() => {
    env = { SVAULT_KEY: newKey('svadmin'), SVAULT_BASE_URL: service.url };
  });
  const file = (): string => join(person.dir, 'webhooks.json');

  test.each([
    ['add', ['add', 'github']],
    ['set', ['set', 'github']],
    ['tokens store-ticket', ['tokens', 'store-ticket', 'github']],
  ])('svault %s gives an unknown webhook nothing, and prints the line that allows it', async (_, args) => {
    const denied = await person.svault(args, { input: 'the-secret', env });
    expect(denied).toMatchObject({ code: 1, out: '' });
    const line = /export (SVAULT_WEBHOOK_URL)=(\S+)\n$/.exec(denied.err);
    expect(line?.slice(1)).toEqual(['SVAULT_WEBHOOK_URL', vault.url]);
    expect(denied.err).not.toMatch(new RegExp(`the-secret|${TICKET}`));
    expect(vault.received).toEqual([]);
    expect(service.received.filter(({ path }) => path === '/api/tokens')).toEqual([]);

    const allowed = { ...env, SVAULT_WEBHOOK_URL: line?.[2] ?? '' };
    expect(await person.svault(args, { input: 'the-secret', env: allowed })).toMatchObject({ code: 0 });
  });

  test('the address that SVAULT_WEBHOOK_URL said is remembered for the key, and another one gets nothing', async () => {
    expect(await store({ ...env, SVAULT_WEBHOOK_URL: `${vault.url}/` })).toMatchObject({ code: 0 });
    expect(await store(env)).toMatchObject({ code: 0 });
    expect(await store({ ...env, SVAULT_BASE_URL: `${service.url}/` })).toMatchObject({ code: 0 });
    expect(readFileSync(file(), 'utf8')).not.toContain(env['SVAULT_KEY']?.slice(8, 16));
    expect(statSync(file()).mode & 0o777).toBe(0o600);

    named = `${evil.url}/v1/store`;
    const denied = await store(env);
    expect(denied.code).toBe(1);
    expect(denied.err).toMatch(/is at http:\S+ now; secrets went to http:\S+ before\. No secret was sent/);
    expect(await store({ ...env, SVAULT_WEBHOOK_URL: vault.url })).toMatchObject({ code: 1 });
    expect(evil.received).toEqual([]);
    expect(vault.received).toHaveLength(3);
  });

  test('another key of the same control plane may be of another account: each keeps its own address', async () => {
    const other = { ...env, SVAULT_KEY: newKey('svadmin') };
    expect(await store({ ...env, SVAULT_WEBHOOK_URL: vault.url })).toMatchObject({ code: 0 });
    named = `${evil.url}/v1/store`;
    expect(await store(other)).toMatchObject({ code: 1 });
    expect(await store({ ...other, SVAULT_WEBHOOK_URL: evil.url })).toMatchObject({ code: 0 });
    expect(await store(other)).toMatchObject({ code: 0 });
    expect(await store(env)).toMatchObject({ code: 1 });
    named = `${vault.url}/v1/store`;
    expect(await store(env)).toMatchObject({ code: 0 });
  });

  test('the address of a login that is kept for the same control plane counts', async () => {
    await signIn();
    await store();
    expect(await store(env)).toMatchObject({ code: 0 });
    named = `${evil.url}/v1/store`;
    expect(await store(env)).toMatchObject({ code: 1 });
    expect(evil.received).toEqual([]);
  });

  test.each([
    ['y', 0, 1],
    ['n', 130, 0],
  ])(
    'a person is shown an unknown address and asked once, and answers %j: exit %i',
    async (answer, exit, stores) => {
      expect(await atTerminal(['add', 'github'], answer, env)).toMatchObject({ code: exit, asked: 1 });
      expect(vault.received).toHaveLength(stores);
      expect(await atTerminal(['add', 'github'], 'n', env)).toMatchObject({
        code: exit,
        asked: stores === 1 ? 0 : 1,
      });
    },
  );

  test('a machine without a folder to write to says the address each time', async () => {
    const folder = join(person.dir, 'nothing');
    writeFileSync(folder, '');
    const nowhere = { ...env, SVAULT_CONFIG_DIR: join(folder, 'svault') };
    expect(await store({ ...nowhere, SVAULT_WEBHOOK_URL: vault.url })).toMatchObject({ code: 0 });
    expect((await store(nowhere)).code).toBe(1);
    expect(vault.received).toHaveLength(1);
  });

  test.each(['vault', 'http://vault.example', 'https://vault.example/?x', 'https://vault.example/#x'])(
    'SVAULT_WEBHOOK_URL=%s is no address of a webhook',
    async (wrong) => {
      expect(await store({ ...env, SVAULT_WEBHOOK_URL: wrong })).toMatchObject({ code: 2 });
      expect(vault.received).toEqual([]);
    },
  );
});

describe('a credential is fetched from the webhook that is known', () => {
  const TOKEN = {
    accessToken: 'the-credential',
    serviceName: 'github',
    tokenType: 'PlainText',
    createdAt: '2026-11-20T12:00:00.000Z',
  };
  let cheat: FakeServer;
  let pointing: FakeServer;
  beforeEach(async () => {
    cheat = await fakeServer(() => ({ status: 200, body: { token: TOKEN } }));
    const url = `${cheat.url}/v1/credential?ticket=${TICKET}`;
    pointing = await fakeServer(({ path, headers }) => {
      if (headers.authorization?.includes('svagent_') === true)
        return { status: 307, headers: { location: url } };
      return path.endsWith('/credential-ticket')
        ? { status: 200, body: { url, expiresAt: '2026-11-20T12:00:00Z' } }
        : {
            status: 200,
            body: {
              token: {},
              store: { url: `${vault.url}/v1/store`, ticket: TICKET, expiresAt: '2026-11-20T12:00:00Z' },
            },
          };
    });
  });
  afterEach(async () => {
    for (const server of [cheat, pointing]) await server.close();
  });
  const get = (kind: 'svagent' | 'svadmin', env: Record<string, string> = {}): Promise<Outcome> =>
    person.svault(['get', 'github'], {
      env: { SVAULT_BASE_URL: pointing.url, SVAULT_KEY: newKey(kind), ...env },
    });

  test('an agent needs no address, and is held to one that SVAULT_WEBHOOK_URL says', async () => {
    expect(await get('svagent')).toMatchObject({ code: 0, out: 'the-credential' });
    expect(await get('svagent', { SVAULT_WEBHOOK_URL: cheat.url })).toMatchObject({ code: 0 });
    const denied = await get('svagent', { SVAULT_WEBHOOK_URL: vault.url });
    expect(denied).toMatchObject({ code: 1, out: '' });
    expect(denied.err).toMatch(/Nothing was fetched/);
    expect(cheat.received).toHaveLength(2);
  });

  test('an owner’s login is held to the address that it stored at', async () => {
    const SVAULT_KEY = newKey('svadmin');
    expect(await get('svadmin', { SVAULT_KEY })).toMatchObject({ code: 0 });
    const env = { SVAULT_BASE_URL: pointing.url, SVAULT_KEY };
    expect(await store({ ...env, SVAULT_WEBHOOK_URL: vault.url })).toMatchObject({ code: 0 });
    const denied = await get('svadmin', { SVAULT_KEY });
    expect(denied).toMatchObject({ code: 1, out: '' });
    expect(denied.err).toContain(`export SVAULT_WEBHOOK_URL=${cheat.url}\n`);
    expect(cheat.received).toHaveLength(1);
    expect(await get('svadmin', { SVAULT_KEY, SVAULT_WEBHOOK_URL: cheat.url })).toMatchObject({ code: 0 });
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

test('no debug output shows the ticket or the secret', async () => {
  const env = {
    SVAULT_KEY: newKey('svadmin'),
    SVAULT_BASE_URL: service.url,
    SVAULT_WEBHOOK_URL: vault.url,
  };
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
  const env = {
    SVAULT_KEY: newKey('svadmin'),
    SVAULT_BASE_URL: service.url,
    SVAULT_WEBHOOK_URL: slow.url,
  };
  const outcome = await person.svault(['add', 'github'], { input: 'x', env, signal: stop.signal });
  await slow.close();
  expect(outcome).toEqual({
    code: 130,
    out: '',
    err: 'github is named, and its secret may not be stored; svault set github stores it\n',
  });
});
