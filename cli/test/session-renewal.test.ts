import { mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { newKey } from '@svault/shared';
import { beforeEach, describe, expect, test } from 'vitest';
import { type CommandLine, type Outcome, someone } from './command-line.ts';
import { answering } from './fake-servers.ts';

// What a renewal makes of a control plane that does not answer as it should; login-by-browser.test.ts has one that does.

let person: CommandLine;
let asked: string[];
let handle: RequestListener;
let interruption: AbortController;
const IN_TIME = new Date(Date.now() + 600_000).toISOString();

beforeEach(async () => {
  person = someone();
  asked = [];
  interruption = new AbortController();
  const baseUrl = await answering((req, res) => {
    asked.push(`${req.method} ${req.url}`);
    handle(req, res);
  });
  const secrets = { home: 'file', id: 'one' };
  const work = { kind: 'admin', email: 'a', baseUrl, secrets };
  keep('contexts.json', { current: 'work', contexts: { work } });
  keepSession();
});

const keep = (name: string, document: object): void =>
  writeFileSync(join(person.dir, name), JSON.stringify({ version: 1, ...document }), { mode: 0o600 });
const keepSecrets = (one: object): void => keep('secrets.json', { secrets: { one } });
const keepSession = (accessExpiresAt = '2020'): void =>
  keepSecrets({ kind: 'session', accessToken: 'old', accessExpiresAt, refreshToken: 'old' });
const kept = (): string => readFileSync(join(person.dir, 'secrets.json'), 'utf8');
const svault = (...args: readonly string[]): Promise<Outcome> =>
  person.svault(args, { signal: interruption.signal });
const whoami = (): Promise<Outcome> => svault('whoami');
const grant = (more: object = {}): string =>
  JSON.stringify({
    accessToken: 'new',
    refreshToken: 'newer',
    expiresInSeconds: 900,
    user: { email: 'a' },
    ...more,
  });
const NO = JSON.stringify({ error: 'No.', code: 'UNAUTHENTICATED' });
const RENEWAL = 'POST /api/cli/login/refresh';
const INTERRUPTED = { code: 130, out: '', err: '' };
const FORGOTTEN = { code: 0, out: '', err: 'work is removed from this machine\n' };

/** Without what an address is asked, without a key, after an answer that is none of a control plane. */
const withoutProbes = (requests: readonly string[]): string[] =>
  requests.filter((each) => !/^GET \/(?:v1\/health|\.well-known\/)/.test(each));

test('completion renews no session: a shell that ends it half-way would lose it', async () => {
  handle = (_req, res) => void res.end(grant());
  const nothing = { code: 0, out: '', err: '' };
  const env = { XDG_CACHE_HOME: person.dir };
  expect(await person.svault(['complete-names', 'agents'], { env })).toEqual(nothing);
  expect(asked).toEqual([]);
});

describe('Ctrl-C during a renewal', () => {
  test.each<[string, RequestListener]>([
    ['gave meanwhile', (_req, res) => void setTimeout(() => res.end(grant()), 50)],
    [
      'gave while this process had no time to read it',
      (_req, res) =>
        void res.end(grant(), () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)),
    ],
    [
      'gave while another process writes',
      (_req, res) => {
        const lock = join(person.dir, '.contexts.lock');
        mkdirSync(lock);
        res.end(grant(), () => setTimeout(() => rmdirSync(lock), 100));
      },
    ],
  ])('keeps the next pair that the control plane %s: exit 130', async (_when, give) => {
    handle = (req, res) => {
      interruption.abort();
      give(req, res);
    };
    expect(await whoami()).toEqual(INTERRUPTED);
    expect(kept()).toContain('"newer"');
    expect(asked).toEqual([RENEWAL]);
  });

  test('ends soon though the control plane never answers: exit 130', async () => {
    handle = () => interruption.abort();
    expect(await whoami()).toEqual(INTERRUPTED);
    expect(kept()).toContain('"old"');
    expect(asked).toEqual([RENEWAL]);
  });
});

describe('logout', () => {
  test.each([
    [204, 'that the control plane ends', IN_TIME, 'POST /api/logout'],
    [401, 'that the control plane has ended', IN_TIME, 'POST /api/logout'],
    [401, 'that cannot be renewed any more', '2020', RENEWAL],
  ])('says nothing at %i of a session %s', async (status, _what, expiresAt, request) => {
    keepSession(expiresAt);
    handle = (_req, res) => void res.writeHead(status).end(status === 401 ? NO : '');
    expect(await svault('logout')).toEqual(FORGOTTEN);
    expect(asked).toEqual([request]);
  });

  test('forgets a login whose secrets are gone', async () => {
    keep('secrets.json', { secrets: {} });
    expect(await svault('logout')).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^work is removed from this machine\n/),
    });
    expect(await whoami()).toMatchObject({ code: 3 });
    expect(asked).toEqual([]);
  });

  test('says that it goes on where the control plane does not end it', async () => {
    keepSession(IN_TIME);
    handle = (_req, res) => void res.writeHead(500).end();
    const { code, err } = await svault('logout');
    expect(code).toBe(0);
    expect(err).toMatch(
      /^work is removed from this machine\nits session at \S+ could not be ended and stays valid/,
    );
  });

  test('--dry-run shows what it would send, and sends and forgets nothing', async () => {
    const { code, out } = await svault('logout', '--dry-run');
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^POST http:\S+\/api\/logout\n$/) });
    expect(asked).toEqual([]);
    expect(kept()).toContain('"old"');
  });
});

test('login by browser takes no name from an agent’s login: exit 2, before any request', async () => {
  const baseUrl = 'http://127.0.0.1:1';
  const secrets = { home: 'file', id: 'one' };
  const work = { kind: 'agent', keyPrefix: 'svagent_abcd…', baseUrl, secrets };
  keep('contexts.json', { current: 'work', contexts: { work } });
  const before = kept();
  const err = expect.stringContaining('work is an agent’s login') as string;
  expect(await svault('login', '--as', 'work')).toEqual({ code: 2, out: '', err });
  expect(kept()).toBe(before);
});

test('a key that takes the place of a key ends no session', async () => {
  const key = newKey('svadmin');
  keepSecrets({ kind: 'key', key });
  handle = (_req, res) => void res.end('{"email":"a"}');
  const args = ['login', '--as', 'work', '--key', '-'];
  expect(await person.svault(args, { input: key })).toMatchObject({ code: 0 });
  expect(asked).toEqual(['GET /api/me']);
});

test('a connection that broke is tried once more', async () => {
  handle = (req, res) => {
    if (asked.length === 1) return void req.socket.destroy();
    res.end(req.url === '/api/me' ? '{}' : grant());
  };
  await whoami();
  expect(withoutProbes(asked)).toEqual([RENEWAL, RENEWAL, 'GET /api/me']);
  expect(kept()).toContain('"newer"');
});

test('a session that is refused is renewed once, and no more than once: exit 3', async () => {
  keepSession(IN_TIME);
  const used: (string | undefined)[] = [];
  handle = (req, res) => {
    if (req.method === 'POST') return void res.end(grant());
    used.push(req.headers.authorization);
    res.writeHead(401).end(NO);
  };
  expect(await whoami()).toMatchObject({ code: 3, out: '' });
  expect(asked).toEqual(['GET /api/me', RENEWAL, 'GET /api/me']);
  expect(used).toEqual(['Bearer old', 'Bearer new']);
  expect(kept()).toContain('"newer"');
});

test('several commands whose session is refused renew it once among them', async () => {
  keepSession(IN_TIME);
  handle = (req, res) => {
    if (req.method === 'POST') return void res.end(grant());
    if (req.headers.authorization === 'Bearer new')
      return void res.end('{"email":"a","role":"admin","via":"session","vaultId":"v"}');
    res.writeHead(401).end(NO);
  };
  const all = await Promise.all([whoami(), whoami(), whoami()]);
  expect(all.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(asked.filter((line) => line === RENEWAL)).toHaveLength(1);
});

test('a key that is refused is not asked with again: exit 3', async () => {
  keepSecrets({ kind: 'key', key: newKey('svadmin') });
  handle = (_req, res) => void res.writeHead(401).end(NO);
  expect(await whoami()).toMatchObject({ code: 3, out: '' });
  expect(asked).toEqual(['GET /api/me']);
});

test.each([
  [200, '{}', 1],
  [200, '<html>', 1],
  [200, grant({ accessToken: 'a b' }), 1],
  [200, grant({ refreshToken: 'a\r\nb' }), 1],
  [200, grant({ user: { email: 'a'.repeat(1_000) } }), 1],
  [302, '', 1],
  [401, JSON.stringify({ error: 'This session has ended.', code: 'UNAUTHENTICATED' }), 3],
  [429, JSON.stringify({ error: 'Later.', code: 'RATE_LIMITED', retryAfter: 9 }), 7],
  [502, '<html>', 5],
])('%i %.20j: one line, exit code %i, and what is kept stays', async (status, body, exitCode) => {
  const before = kept();
  handle = (_req, res) => void res.writeHead(status, { location: 'http://127.0.0.1:1/' }).end(body);
  const { code, out, err } = await whoami();
  expect({ code, out }).toEqual({ code: exitCode, out: '' });
  expect(err).toMatch(/^error: \P{Cc}+\n$/u);
  expect(kept()).toBe(before);
  expect(withoutProbes(asked)).toEqual([RENEWAL]);
  expect(readdirSync(person.dir).toSorted()).toEqual(['contexts.json', 'secrets.json']);
});
