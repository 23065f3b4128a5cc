import { once } from 'node:events';
import { mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { type RequestListener, type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { newKey } from '@svault/shared';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type CommandLine, type Outcome, commandLine } from './command-line.ts';

// What a renewal makes of a control plane that does not answer as it should; login-by-browser.test.ts has one that does.

let person: CommandLine;
let server: Server;
let asked: string[];
let handle: RequestListener;
let interruption: AbortController;

beforeEach(async () => {
  person = commandLine();
  asked = [];
  interruption = new AbortController();
  server = createServer((req, res) => {
    asked.push(`${req.method} ${req.url}`);
    handle(req, res);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const secrets = { home: 'file', id: 'one' };
  keep('contexts.json', {
    current: 'work',
    contexts: { work: { kind: 'admin', email: 'a', baseUrl, secrets } },
  });
  const session = { kind: 'session', accessToken: 'old', accessExpiresAt: '2020', refreshToken: 'old' };
  keep('secrets.json', { secrets: { one: session } });
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  person.remove();
});

const keep = (name: string, document: object): void =>
  writeFileSync(join(person.dir, name), JSON.stringify({ version: 1, ...document }), { mode: 0o600 });
const kept = (): string => readFileSync(join(person.dir, 'secrets.json'), 'utf8');
const whoami = (): Promise<Outcome> => person.svault(['whoami'], { signal: interruption.signal });
const grant = (more: object = {}): string =>
  JSON.stringify({
    accessToken: 'new',
    refreshToken: 'newer',
    expiresInSeconds: 900,
    user: { email: 'a' },
    ...more,
  });
const RENEWAL = 'POST /api/cli/login/refresh';

describe('Ctrl-C during a renewal', () => {
  test('keeps the next pair that the control plane gave meanwhile: exit 130', async () => {
    handle = (_req, res) => {
      interruption.abort();
      setTimeout(() => res.end(grant()), 50);
    };
    expect(await whoami()).toEqual({ code: 130, out: '', err: '' });
    expect(kept()).toContain('"newer"');
    expect(asked).toEqual([RENEWAL]);
  });

  test('keeps one that came while this process had no time to read it', async () => {
    handle = (_req, res) => {
      interruption.abort();
      res.end(grant(), () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000));
    };
    expect(await whoami()).toEqual({ code: 130, out: '', err: '' });
    expect(kept()).toContain('"newer"');
  });

  test('keeps it though another process writes just then', async () => {
    const lock = join(person.dir, '.contexts.lock');
    handle = (_req, res) => {
      interruption.abort();
      mkdirSync(lock);
      res.end(grant(), () => setTimeout(() => rmdirSync(lock), 100));
    };
    expect(await whoami()).toEqual({ code: 130, out: '', err: '' });
    expect(kept()).toContain('"newer"');
  });

  test('ends soon though the control plane never answers: exit 130', async () => {
    handle = () => interruption.abort();
    expect(await whoami()).toEqual({ code: 130, out: '', err: '' });
    expect(kept()).toContain('"old"');
    expect(asked).toEqual([RENEWAL]);
  });
});

describe('logout', () => {
  const logout = (...more: string[]): Promise<Outcome> => person.svault(['logout', ...more]);
  beforeEach(() => {
    const accessExpiresAt = new Date(Date.now() + 600_000).toISOString();
    const session = { kind: 'session', accessToken: 'live', accessExpiresAt, refreshToken: 'r' };
    keep('secrets.json', { secrets: { one: session } });
  });

  test.each([[204], [401]])(
    'says nothing of a session that the control plane ends, or has ended: %i',
    async (status) => {
      handle = (_req, res) => void res.writeHead(status).end();
      expect(await logout()).toEqual({ code: 0, out: '', err: 'work is forgotten here\n' });
      expect(asked).toEqual(['POST /api/logout']);
    },
  );

  test('nor of one that cannot be renewed any more', async () => {
    keep('secrets.json', {
      secrets: { one: { kind: 'session', accessToken: 'a', accessExpiresAt: '2020', refreshToken: 'r' } },
    });
    handle = (_req, res) => void res.writeHead(401).end('{"error":"Over.","code":"UNAUTHENTICATED"}');
    expect(await logout()).toEqual({ code: 0, out: '', err: 'work is forgotten here\n' });
    expect(asked).toEqual([RENEWAL]);
  });

  test('forgets a login whose secrets are gone', async () => {
    keep('secrets.json', { secrets: {} });
    const { code, err } = await logout();
    expect({ code, err }).toEqual({ code: 0, err: expect.stringMatching(/^work is forgotten here\n/) });
    expect(await whoami()).toMatchObject({ code: 3 });
    expect(asked).toEqual([]);
  });

  test('says that it goes on where the control plane does not end it', async () => {
    handle = (_req, res) => void res.writeHead(500).end();
    const { code, err } = await logout();
    expect(code).toBe(0);
    expect(err).toMatch(/^work is forgotten here\nits session at \S+ could not be ended and goes on/);
  });

  test('--dry-run shows what it would send, and sends and forgets nothing', async () => {
    const { code, out } = await logout('--dry-run');
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^POST http:\S+\/api\/logout\n$/) });
    expect(asked).toEqual([]);
    expect(kept()).toContain('"live"');
  });
});

test('login by browser takes no name from an agent’s login: exit 2, before any request', async () => {
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const secrets = { home: 'file', id: 'one' };
  keep('contexts.json', {
    current: 'work',
    contexts: { work: { kind: 'agent', keyPrefix: 'svagent_abcd…', baseUrl, secrets } },
  });
  const before = kept();
  expect(await person.svault(['login', '--as', 'work'])).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('work is an agent’s login'),
  });
  expect(asked).toEqual([]);
  expect(kept()).toBe(before);
});

test('a key that takes the place of a key ends no session', async () => {
  const key = newKey('svadmin');
  keep('secrets.json', { secrets: { one: { kind: 'key', key } } });
  handle = (_req, res) => void res.end('{"email":"a"}');
  expect(await person.svault(['login', '--as', 'work', '--key', '-'], { input: key })).toMatchObject({
    code: 0,
  });
  expect(asked).toEqual(['GET /api/me']);
});

test('a connection that broke is tried once more', async () => {
  handle = (req, res) => {
    if (asked.length === 1) return void req.socket.destroy();
    res.end(req.url === '/api/me' ? '{}' : grant());
  };
  await whoami();
  expect(asked).toEqual([RENEWAL, RENEWAL, 'GET /api/me']);
  expect(kept()).toContain('"newer"');
});

test('a session that is refused is renewed once, and no more than once: exit 3', async () => {
  const accessExpiresAt = new Date(Date.now() + 600_000).toISOString();
  const session = { kind: 'session', accessToken: 'old', accessExpiresAt, refreshToken: 'old' };
  keep('secrets.json', { secrets: { one: session } });
  const used: (string | undefined)[] = [];
  handle = (req, res) => {
    if (req.method === 'POST') return void res.end(grant());
    used.push(req.headers.authorization);
    res.writeHead(401).end(JSON.stringify({ error: 'No.', code: 'UNAUTHENTICATED' }));
  };
  expect(await whoami()).toMatchObject({ code: 3, out: '' });
  expect(asked).toEqual(['GET /api/me', RENEWAL, 'GET /api/me']);
  expect(used).toEqual(['Bearer old', 'Bearer new']);
  expect(kept()).toContain('"newer"');
});

test('several commands whose session is refused renew it once among them', async () => {
  const accessExpiresAt = new Date(Date.now() + 600_000).toISOString();
  const session = { kind: 'session', accessToken: 'old', accessExpiresAt, refreshToken: 'old' };
  keep('secrets.json', { secrets: { one: session } });
  handle = (req, res) => {
    if (req.method === 'POST') return void res.end(grant());
    if (req.headers.authorization === 'Bearer new')
      return void res.end('{"email":"a","role":"admin","via":"session","vaultId":"v"}');
    res.writeHead(401).end(JSON.stringify({ error: 'No.', code: 'UNAUTHENTICATED' }));
  };
  const all = await Promise.all([whoami(), whoami(), whoami()]);
  expect(all.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(asked.filter((line) => line === RENEWAL)).toHaveLength(1);
});

test('a key that is refused is not asked with again: exit 3', async () => {
  keep('secrets.json', { secrets: { one: { kind: 'key', key: newKey('svadmin') } } });
  handle = (_req, res) => {
    res.writeHead(401).end(JSON.stringify({ error: 'No.', code: 'UNAUTHENTICATED' }));
  };
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
  expect(asked).toEqual([RENEWAL]);
  expect(readdirSync(person.dir).toSorted()).toEqual(['contexts.json', 'secrets.json']);
});
