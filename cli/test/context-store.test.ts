import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { geteuid } from 'node:process';
import { newKey } from '@svault/shared';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type {
  Context,
  ContextSecrets,
  KeptContext,
  KeySecrets,
  SessionSecrets,
} from '../src/contexts/context.ts';
import { type ContextStore, localContextStore } from '../src/contexts/context-store.ts';
import { someone } from './command-line.ts';

let root: string;
let folder: string;
let store: ContextStore;

const openStore = (path = folder, signal = new AbortController().signal): Promise<ContextStore> =>
  localContextStore({ env: { SVAULT_CONFIG_DIR: path, SVAULT_KEYCHAIN: 'off' }, signal });

beforeEach(async () => {
  root = someone().dir;
  folder = join(root, 'config');
  store = await openStore();
});

const agent = (name: string): Context => ({
  kind: 'agent',
  name,
  baseUrl: 'https://svault.example',
  keyPrefix: 'svagent_abcd…',
});
const keyOf = (): KeySecrets => ({ kind: 'key', key: newKey('svagent') });
const session: SessionSecrets = {
  kind: 'session',
  accessToken: 'svcli_1',
  accessExpiresAt: '2026-11-20T12:00:00.000Z',
  refreshToken: 'svclir_1',
};
const named = async (name: string): Promise<KeptContext> => {
  const found = (await store.list()).contexts.find((context) => context.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
};
const textOf = (name: string): string => readFileSync(join(folder, name), 'utf8');
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('logins', () => {
  test('there are none before one is saved, and no folder', async () => {
    expect(await store.list()).toEqual({ contexts: [], current: undefined });
    expect(readdirSync(root)).toEqual([]);
  });

  test('the last one saved is the current one; they come in order', async () => {
    await store.save(agent('b'), keyOf());
    await store.save(agent('a'), keyOf());
    const { contexts, current } = await store.list();
    expect(contexts.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(current).toBe('a');
    await store.use('b');
    expect((await store.list()).current).toBe('b');
  });

  test('one that was removed leaves nothing, and none is the current one', async () => {
    await store.save(agent('a'), keyOf());
    const secrets = keyOf();
    await store.save(agent('b'), secrets);
    const removed = await named('b');
    expect(await store.remove('b')).toBeUndefined();
    expect((await store.list()).current).toBeUndefined();
    expect(textOf('secrets.json')).not.toContain(secrets.key);
    await expect(store.secretsOf(removed)).rejects.toThrow('svault login --as b');
  });

  test('a name that there is not: those there are', async () => {
    await expect(store.use('c')).rejects.toThrow(
      'there is no login c, and no other: svault login --base-url URL',
    );
    await store.save(agent('a'), keyOf());
    await store.save(agent('b'), keyOf());
    for (const name of ['c', '__proto__', 'constructor'])
      await expect(store.use(name)).rejects.toMatchObject({
        exit: 'usage',
        message: `there is no login ${name}; svault context list shows them: a, b`,
      });
    await expect(store.remove('c')).rejects.toMatchObject({ exit: 'usage' });
  });

  test('one that takes the place of another gets no secret of it, nor does the other get its', async () => {
    const [first, second] = [keyOf(), keyOf()];
    await store.save(agent('a'), first);
    const former = await named('a');
    await store.save({ ...agent('a'), baseUrl: 'https://other.example' }, second);
    expect(await store.secretsOf(await named('a'))).toEqual(second);
    await expect(store.secretsOf(former)).rejects.toMatchObject({ exit: 'denied' });
    expect(Object.keys(JSON.parse(textOf('secrets.json')).secrets)).toHaveLength(1);
  });

  test('many at once lose nothing', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `agent-${index}`);
    const stores = await Promise.all(names.map(() => openStore()));
    await Promise.all(stores.map((each, index) => each.save(agent(names[index] ?? ''), keyOf())));
    const { contexts } = await store.list();
    expect(contexts.map(({ name }) => name)).toEqual(names);
    for (const context of contexts) expect(await store.secretsOf(context)).toMatchObject({ kind: 'key' });
    expect(readdirSync(folder).toSorted()).toEqual(['contexts.json', 'secrets.json']);
  });
});

test('a process that is killed while it writes blocks no later command', async () => {
  await store.save(agent('a'), keyOf());
  const lock = join(folder, '.contexts.lock');
  mkdirSync(lock);
  utimesSync(lock, new Date(0), new Date(0));
  await store.save(agent('b'), keyOf());
  expect((await store.list()).contexts).toHaveLength(2);
});

describe('while another process writes', () => {
  let lock: string;
  beforeEach(async () => {
    await store.save(agent('a'), keyOf());
    lock = join(folder, '.contexts.lock');
    mkdirSync(lock);
  });

  test('Ctrl-C ends the wait, and nothing is written', async () => {
    const interrupted = await openStore(folder, AbortSignal.abort());
    await expect(interrupted.save(agent('b'), keyOf())).rejects.toMatchObject({ name: 'AbortError' });
    expect((await store.list()).contexts.map(({ name }) => name)).toEqual(['a']);
    expect(readdirSync(folder)).toContain('.contexts.lock');
  });

  test('it is not waited for without an end', async () => {
    utimesSync(lock, new Date('2100-01-01'), new Date('2100-01-01'));
    let now = Date.now();
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => (now += 60_000));
    try {
      await expect(store.use('a')).rejects.toThrow('another svault is still writing');
    } finally {
      clock.mockRestore();
    }
  });
});

test('what a process that was killed had begun to write is forgotten as well', async () => {
  await store.save(agent('a'), keyOf());
  const left = ['.secrets.json.0123456789abcdef', '.contexts.json.fedcba9876543210'];
  const others = ['.secrets.json.00000000000000aa', '.secrets.json.old', 'secrets.json.0123456789abcdef'];
  for (const name of [...left, ...others]) writeFileSync(join(folder, name), 'svagent_', { mode: 0o600 });
  for (const name of [...left, ...others.slice(1)]) utimesSync(join(folder, name), new Date(0), new Date(0));
  await store.remove('a');
  expect(readdirSync(folder).toSorted()).toEqual([...others, 'contexts.json', 'secrets.json'].toSorted());
});

describe('files', () => {
  test('files are for this user alone under every umask; secrets are in one of them only', async () => {
    const secrets = keyOf();
    await store.save(agent('a'), secrets);
    expect(modeOf(folder)).toBe('700');
    for (const name of readdirSync(folder)) expect(modeOf(join(folder, name))).toBe('600');
    expect(textOf('contexts.json')).not.toContain(secrets.key);
  });

  test.each(['contexts.json', 'secrets.json'])(
    '%s that is not right is refused in one line that names it',
    async (file) => {
      await store.save(agent('a'), keyOf());
      const context = await named('a');
      const path = join(folder, file);
      const right = readFileSync(path, 'utf8');
      const read = (): Promise<unknown> =>
        file === 'contexts.json' ? store.list() : store.secretsOf(context);
      const refused = async (why: RegExp): Promise<void> => {
        await expect(read()).rejects.toMatchObject({ exit: 'failed', message: expect.stringMatching(why) });
        await expect(read()).rejects.toThrow(path);
      };

      for (const mode of [0o640, 0o604, 0o602, 0o660]) {
        chmodSync(path, mode);
        await refused(/is open to other users \(mode \d{3}\): chmod 600 /);
      }
      chmodSync(path, 0o600);
      const damaged = ['', '{', '[]', 'null', '{}', '{"version":1}', '{"version":"1"}', '\0'];
      damaged.push(right.replace('"version": 1', '"version": 0'));
      if (file === 'contexts.json') damaged.push(right.replace('"a": {', '"../a": {'));
      for (const text of damaged) {
        writeFileSync(path, text);
        await refused(/is damaged: /);
      }
      writeFileSync(path, '{"version":2}');
      await refused(/was written by a newer svault/);
      writeFileSync(path, ' '.repeat(1024 * 1024 + 1));
      await refused(/is larger than /);
      renameSync(path, `${path}.real`);
      writeFileSync(`${path}.real`, right);
      symlinkSync(`${path}.real`, path);
      await refused(/is a symbolic link/);
      renameSync(`${path}.real`, path);
      expect(await read()).toBeDefined();
    },
  );

  test('a folder or a pipe in the place of one', async () => {
    mkdirSync(join(folder, 'contexts.json'), { recursive: true });
    await expect(store.list()).rejects.toThrow('contexts.json is not a file');
    folder = join(root, 'piped');
    mkdirSync(folder, { mode: 0o700 });
    execFileSync('mkfifo', ['-m', '600', join(folder, 'contexts.json')]);
    await expect((await openStore()).list()).rejects.toThrow('contexts.json is not a file');
  });

  test('an address that keys must not go to is damage', async () => {
    await store.save(agent('a'), keyOf());
    const path = join(folder, 'contexts.json');
    const text = readFileSync(path, 'utf8');
    for (const address of ['http://evil.example', 'file:///etc', 'https://me@evil.example']) {
      writeFileSync(path, text.replace('https://svault.example', address));
      await expect(store.list()).rejects.toThrow('is damaged');
    }
  });

  test('no folder, where a file is in its way: it says which setting names another', async () => {
    writeFileSync(folder, '');
    store = await openStore(join(folder, 'svault'));
    await expect(store.list()).rejects.toThrow(/cannot be read: not a directory; set SVAULT_CONFIG_DIR/);
    await expect(store.save(agent('a'), keyOf())).rejects.toMatchObject({ exit: 'failed' });
  });

  test('a folder that others may write into', async () => {
    await store.save(agent('a'), keyOf());
    for (const mode of [0o777, 0o770, 0o702]) {
      chmodSync(folder, mode);
      await expect(store.list()).rejects.toThrow(`others may write into ${folder}: chmod 700 ${folder}`);
    }
    await expect(store.save(agent('b'), keyOf())).rejects.toMatchObject({ exit: 'failed' });
  });

  test.runIf(geteuid?.() === 0)('a file or a folder of another user', async () => {
    await store.save(agent('a'), keyOf());
    chownSync(join(folder, 'contexts.json'), 65_534, 65_534);
    await expect(store.list()).rejects.toThrow('belongs to another user');
    chownSync(folder, 65_534, 65_534);
    await expect(store.list()).rejects.toThrow(`${folder} belongs to another user`);
  });
});

describe('replacing secrets', () => {
  test('happens once, however many find it needed', async () => {
    await store.save(agent('a'), session);
    const context = await named('a');
    let made = 0;
    const renew = async (present: ContextSecrets): Promise<ContextSecrets> => {
      if (present.kind !== 'session' || present.accessToken !== 'svcli_1') return present;
      made += 1;
      return { ...present, accessToken: 'svcli_2' };
    };
    const stores = await Promise.all([1, 2, 3, 4].map(() => openStore()));
    const all = await Promise.all(stores.map((each) => each.replaceSecrets(context, renew)));
    expect(all).toEqual(Array(4).fill({ ...session, accessToken: 'svcli_2' }));
    expect(made).toBe(1);
    expect(await store.secretsOf(context)).toEqual({ ...session, accessToken: 'svcli_2' });
    expect(readdirSync(folder).toSorted()).toEqual(['contexts.json', 'secrets.json']);
  });

  test('brings none back that was forgotten meanwhile, and harms none that was saved meanwhile', async () => {
    await store.save(agent('a'), session);
    await store.replaceSecrets(await named('a'), async () => {
      await store.remove('a');
      return { ...session, accessToken: 'late' };
    });
    expect(textOf('secrets.json')).not.toContain('svcli');
    await store.save(agent('a'), session);
    await store.replaceSecrets(await named('a'), async (present) => {
      await store.save(agent('a'), { ...session, accessToken: 'new' });
      return { ...present, accessToken: 'late' } as ContextSecrets;
    });
    expect(await store.secretsOf(await named('a'))).toEqual({ ...session, accessToken: 'new' });
  });

  test('a failed write leaves the files unchanged, and no lock', async () => {
    await store.save(agent('a'), session);
    const context = await named('a');
    await expect(store.replaceSecrets(context, () => Promise.reject(new Error('away')))).rejects.toThrow(
      'away',
    );
    expect(await store.replaceSecrets(context, async (present) => present)).toEqual(session);
  });
});
