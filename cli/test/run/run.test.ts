import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BIN, type Outcome } from '../command-line.ts';
import { type CoveredApi, SECRET, coveredApi } from './covered-api.ts';
import { holdersOf } from './processes.ts';

let api: CoveredApi;
/** Where svault makes the folder of a run. */
let folders: string;
beforeAll(async () => {
  api = await coveredApi({ api: (req, res) => void res.end(`hello ${req.url}`) });
  folders = join(api.agent.dir, 'tmp');
  mkdirSync(folders);
});
afterAll(() => api.close());
beforeEach(() => {
  api.authorizations.length = 0;
});

/** `svault run` as a process, with a command of Node that has what is here. */
const run = (
  code: string,
  flags: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Outcome> =>
  api.agent.spawned(['run', ...flags, '--', process.execPath, '-e', code], {
    env: { ...api.env, TMPDIR: folders, ...env },
  });

const get = (url: string, headers: Record<string, string> = {}): string =>
  `const answer = await fetch(${JSON.stringify(url)}, { headers: ${JSON.stringify(headers)} }).catch((error) => ({ status: error.cause?.code ?? String(error), text: async () => '' }));
  console.log(answer.status, await answer.text());`;

const inModule = (code: string): string => `(async () => { ${code} })()`;

describe('a command', () => {
  test('calls an API with a credential that it does not have, and the summary says which', async () => {
    const { code, out, err } = await run(
      inModule(get(`${api.origin}/user?secret=query`, { authorization: 'Bearer svault-placeholder' })),
    );
    expect({ code, out }).toEqual({ code: 0, out: '200 hello /user?secret=query\n' });
    expect(err).toBe('svault run: 1 request to 127.0.0.1 with the credential api\n');
    expect(api.authorizations).toEqual([`Bearer ${SECRET}`]);
  });

  test('reaches other hosts itself, with their own certificates, and refuses a bad one itself', async () => {
    const headers = { authorization: 'own' };
    const { out, err } = await run(
      inModule(
        get(`${api.outside}/`, headers) +
          get(`${api.impostor}/`).replace('const answer', 'const other').replaceAll('answer.', 'other.'),
      ),
    );
    expect(out).toMatch(/^200 outside: own\n(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN)/);
    expect(err).toBe('svault run: 2 connections straight to 127.0.0.1\n');
  });

  test('--only denies other hosts', async () => {
    const { out, err } = await run(inModule(get(`${api.outside}/`)), ['--only']);
    expect(out).not.toContain('200');
    expect(err).toBe('svault run: 1 request to 127.0.0.1 refused: no proxy covers it\n');
  });

  test('sees neither svault’s variables nor the secret, and its files are this user’s alone', async () => {
    const { code, out } = await run(
      `const { readFileSync, statSync } = require('node:fs'); const { dirname } = require('node:path');
      const file = process.env.SSL_CERT_FILE;
      console.log(JSON.stringify({ env: process.env, mode: [statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777], file, text: readFileSync(file, 'utf8') }));`,
      ['--placeholder', 'API_TOKEN', '--placeholder', 'GH_TOKEN', '--quiet'],
    );
    expect(code).toBe(0);
    const { env, mode, file, text } = JSON.parse(out) as {
      env: Record<string, string>;
      mode: number[];
      file: string;
      text: string;
    };
    expect(Object.keys(env).filter((name) => name.startsWith('SVAULT_'))).toEqual([]);
    expect(env).toMatchObject({
      API_TOKEN: 'svault-placeholder-api-token',
      GH_TOKEN: 'svault-placeholder-gh-token',
      NODE_USE_ENV_PROXY: '1',
      NO_PROXY: '',
      HTTPS_PROXY: expect.stringMatching(/^http:\/\/svault:[\w-]{43}@127\.0\.0\.1:\d+$/),
    });
    expect(mode).toEqual([0o600, 0o700]);
    expect(text).toContain(readFileSync(api.trusted, 'utf8').trim());
    expect(text.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    for (const held of [out, text]) {
      expect(held).not.toContain(SECRET);
      expect(held).not.toContain(api.agent.key);
      expect(held).not.toContain('PRIVATE KEY');
      expect(held).not.toMatch(/mcp_/);
    }
    expect(existsSync(file)).toBe(false);
  });

  test('ends as it ends, and the summary says where nothing was called; --quiet omits it', async () => {
    const err = 'svault run: no request came through the local proxy\n';
    expect(await run('process.exit(42)')).toEqual({ code: 42, out: '', err });
    expect(await run('process.exit(42)', ['--quiet'])).toEqual({ code: 42, out: '', err: '' });
    expect(await run('process.kill(process.pid, "SIGKILL")')).toMatchObject({ code: 137 });
    expect(await run(inModule(get(api.origin)), ['--quiet'])).toMatchObject({ code: 0, err: '' });
    expect(await api.agent.svault(['run', '--', 'no-such-command-here'])).toEqual({
      ...{ code: 127, out: '', err: 'error: there is no command no-such-command-here\n' },
    });
  });

  test('is not started where its files would be in a folder that another user controls, or that is missing', async () => {
    const shared = join(api.agent.dir, 'shared');
    mkdirSync(shared);
    const start = (TMPDIR: string): Promise<Outcome> =>
      run('console.log("started")', ['--quiet'], { TMPDIR });
    chmodSync(shared, 0o777);
    expect(await start(shared)).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(/other users .*TMPDIR/),
    });
    chmodSync(shared, 0o1777);
    expect(await start(shared)).toEqual({ code: 0, out: 'started\n', err: '' });
    const missing = { code: 1, out: '', err: expect.stringMatching(/no such file or directory.*TMPDIR/) };
    expect(await start(join(shared, 'missing'))).toEqual(missing);
    expect(readdirSync(shared)).toEqual([]);
  });

  test('is denied what the owner denies, and the summary says why', async () => {
    const { admin } = api.people.pair;
    await admin.call('POST', '/api/vault/lock');
    const { out, err } = await run(inModule(get(`${api.origin}/user`)));
    await admin.call('POST', '/api/vault/unlock');
    expect(out).toMatch(/^423 .*VAULT_LOCKED/);
    expect(err).toContain(
      'svault run: 1 request to 127.0.0.1 refused: VAULT_LOCKED (svault explain VAULT_LOCKED)\n',
    );
  });
});

describe('which proxies', () => {
  test('an admin names them, and an agent may', async () => {
    const { admin } = api.people;
    const args = ['--', process.execPath, '-e', inModule(get(`${api.origin}/a`))];
    const named = await admin.spawned(['run', '--proxy', 'api', ...args], {
      env: { NODE_EXTRA_CA_CERTS: api.trusted },
    });
    expect(named).toMatchObject({ code: 0, out: '200 hello /a\n' });
    expect(await run(inModule(get(`${api.origin}/b`)), ['--proxy', 'api'])).toMatchObject({
      out: '200 hello /b\n',
    });
  });

  test('without any, what to do is said, and nothing is started', async () => {
    const { admin, pair } = api.people;
    const other = await api.people.agent('other');
    const touch = ['--', 'touch', join(api.agent.dir, 'started')];
    const cases = [
      [admin.svault(['run', ...touch]), 2, /--proxy NAME.*svault proxies create --kind http/],
      [other.svault(['run', ...touch]), 4, /svault proxies create --kind http .* --agent/],
      [other.svault(['run', '--proxy', 'api', ...touch]), 4, /no HTTP proxy api/],
      [admin.svault(['run', '--proxy', 'nothing', ...touch]), 4, /nothing/],
    ] as const;
    for (const [outcome, code, said] of cases)
      expect(await outcome).toEqual({ code, out: '', err: expect.stringMatching(said) });
    const mcp = {
      name: 'mcp',
      upstreamUrl: 'https://mcp.example.com/mcp',
      serviceName: 'api',
      agentId: other.id,
    };
    await pair.admin.call('POST', '/api/proxies', mcp);
    expect(await other.svault(['run', ...touch])).toMatchObject({ code: 4 });
    expect(await admin.svault(['run', '--proxy', 'mcp', ...touch])).toMatchObject({ code: 2 });
    expect(existsSync(join(api.agent.dir, 'started'))).toBe(false);
  });

  test('two of the same upstream need a choice', async () => {
    const twin = await api.people.agent('twin');
    for (const name of ['first', 'second'])
      await api.people.pair.admin.call('POST', '/api/proxies', {
        ...{
          name,
          kind: 'http',
          upstreamUrl: 'https://api.example.com/v3',
          serviceName: 'api',
          agentId: twin.id,
        },
      });
    expect(await twin.svault(['run', '--', 'true'])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/first.*second.*https:\/\/api\.example\.com\/v3.*--proxy/),
    });
    expect(await twin.svault(['run', '--proxy', 'first', '--', 'true'])).toMatchObject({ code: 0 });
  });

  test.each([[['--placeholder', 'a b', '--', 'true']], [['--placeholder', '', '--', 'true']], [[]]])(
    '%j is no way to call it',
    async (args) => {
      expect(await api.agent.svault(['run', ...args])).toMatchObject({ code: 2, out: '' });
    },
  );
});

/** Says where its proxy is, and which signals it gets; ends by SIGTERM. */
const WAITING = `
for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'])
  process.on(signal, () => process.stdout.write(signal + '\\n', () => signal === 'SIGTERM' && process.exit(7)));
setInterval(() => undefined, 60_000);
process.stdout.write(JSON.stringify({ pid: process.pid, proxy: process.env.HTTPS_PROXY, file: process.env.SSL_CERT_FILE }) + '\\n');`;

interface Waiting {
  readonly svault: ChildProcess;
  readonly pid: number;
  readonly port: number;
  readonly file: string;
  readonly said: (text: string) => Promise<void>;
}

async function waiting(): Promise<Waiting> {
  const svault = spawn(process.execPath, [BIN, 'run', '--', process.execPath, '-e', WAITING], {
    env: { ...api.env, TMPDIR: folders },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let out = '';
  svault.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const said = async (text: string): Promise<void> => {
    while (!out.endsWith(`${text}\n`)) await once(svault.stdout, 'data');
  };
  await said('}');
  const { pid, proxy, file } = JSON.parse(out) as { pid: number; proxy: string; file: string };
  return { svault, pid, port: Number(new URL(proxy).port), file, said };
}

const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};
const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
/** Shells that remove the folder of a run. */
const watchers = () => holdersOf(folders).filter(({ held }) => held.startsWith('/bin/sh'));

describe.runIf(process.platform === 'linux')('nothing is left behind', () => {
  test('by signals, which go on to the command', async () => {
    const { svault, port, file, said } = await waiting();
    const ended = once(svault, 'exit');
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const) {
      svault.kill(signal);
      await said(signal);
    }
    expect(await ended).toEqual([7, null]);
    expect([existsSync(file), await isListening(port)]).toEqual([false, false]);
    await expect.poll(watchers).toEqual([]);
  });

  test('by kill -9 of svault, which ends the command too', async () => {
    const { svault, pid, port, file } = await waiting();
    expect([runs(pid), await isListening(port), existsSync(file)]).toEqual([true, true, true]);
    svault.kill('SIGKILL');
    await expect.poll(() => runs(pid)).toBe(false);
    await expect.poll(() => existsSync(file)).toBe(false);
    await expect.poll(() => readdirSync(folders)).toEqual([]);
    expect(await isListening(port)).toBe(false);
    await expect.poll(watchers).toEqual([]);
  });

  test('nor does the secret, the agent’s key or the proxy’s key stand in a process or a log', async () => {
    const { svault, pid } = await waiting();
    const { key } = await api.people.pair.admin
      .call<{ items: { id: string; name: string }[] }>('GET', '/api/proxies')
      .then(({ items }) => items.find(({ name }) => name === 'api'))
      .then((proxy) =>
        api.people.pair.admin.call<{ key: string }>('POST', `/api/proxies/${proxy?.id}/reveal-key`),
      );
    expect(holdersOf(SECRET)).toEqual([]);
    expect(holdersOf(key)).toEqual([]);
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain(api.agent.key);
    const ended = once(svault, 'exit');
    svault.kill('SIGTERM');
    await ended;
    for (const program of ['control-plane', 'webhook'] as const)
      for (const text of [SECRET, key, api.agent.key])
        expect(api.people.pair.logOf(program)).not.toContain(text);
    for (const text of [SECRET, key, api.agent.key]) expect(api.traffic().includes(text)).toBe(false);
    expect(api.traffic().length).toBeGreaterThan(0);
  });
});
