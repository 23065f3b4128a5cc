import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isWellFormedKey, keyDisplayPrefix, newKey } from '@svault/shared';
import { jwkThumbprint } from '@svault/shared/sealed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kindOfKey, shownKey } from '../src/contexts/key-form.ts';
import type { CommandLine, Outcome } from './command-line.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let stage: PairAndPeople;
let agent: { readonly key: string };
let base: string;
beforeAll(async () => {
  stage = await pairAndPeople();
  base = stage.pair.controlPlaneUrl();
  agent = await stage.agent('reader', 'github', 'stripe');
});
afterAll(() => stage.close());

const signIn = (person: CommandLine, key: string, ...more: string[]): Promise<Outcome> =>
  person.svault(['login', '--key', '-', '--base-url', base, ...more], { input: `${key}\n` });
const kept = (person: CommandLine): string =>
  readdirSync(person.dir)
    .map((name) => readFileSync(join(person.dir, name), 'utf8'))
    .join('\n');

test('keys have the form that the control plane gives them', () => {
  for (const kind of ['agent', 'admin'] as const)
    for (let round = 0; round < 10; round += 1) {
      const key = newKey(`sv${kind}`);
      expect(kindOfKey(key)).toBe(kind);
      expect(shownKey(key)).toBe(keyDisplayPrefix(key));
      const others = [`${key}A`, key.slice(0, -1), ` ${key}`, `${key}\n`, key.toUpperCase()];
      for (const other of [...others, key.replace('_', '-')]) {
        expect(isWellFormedKey(`sv${kind}`, other)).toBe(false);
        expect(kindOfKey(other)).toBeUndefined();
      }
    }
  expect(kindOfKey(newKey('svsess'))).toBeUndefined();
});

describe('login --key of an agent', () => {
  test('prints the public key that credentials are sealed to, and what an admin does with it', async () => {
    const person = stage.stranger();
    const { code, out, err } = await signIn(person, agent.key, '--as', 'reader');
    expect(code).toBe(0);
    expect(out).toMatch(/^\{.*\}\n$/);
    expect(Object.keys(JSON.parse(out)).toSorted()).toEqual(['crv', 'kty', 'x', 'y']);
    expect(err).toContain(`svault agents edit AGENT --sealing-key '${out.trim()}'`);
    expect(err).toContain(`--recipient '${out.trim()}'`);
    expect(out + err).not.toContain(agent.key);
    const edit = ['agents', 'edit', 'reader', '--sealing-key', out.trim()];
    expect(await stage.admin.svault(edit)).toMatchObject({ code: 0 });
  });

  // spec: The CLI holds the session in a context.
  test('again: the sealing key stays, by name and by key; so it does with a new key', async () => {
    const { key, id } = await stage.agent('rotated');
    const person = stage.stranger();
    const first = await signIn(person, key, '--as', 'one');
    const again = await signIn(person, key, '--as', 'one');
    const elsewhere = await signIn(person, key, '--as', 'two');
    const rotation = `/api/agents/${id}/rotate-key`;
    const { apiKey } = await stage.pair.admin.call<{ apiKey: string }>('POST', rotation);
    const rotated = await signIn(person, apiKey, '--as', 'two');
    for (const each of [again, elsewhere, rotated]) {
      expect(each).toMatchObject({ code: 0, out: first.out });
      expect(each.err).toContain('its sealing key is the one it had here before');
    }
    expect(kept(person)).toContain(apiKey);
    expect((await signIn(person, apiKey, '--as', 'other')).out).toBe(first.out);
    expect((await signIn(person, agent.key, '--as', 'stranger')).out).not.toBe(first.out);
  });

  test('without a name it gets one that tells agents apart; as JSON with the thumbprint', async () => {
    const person = stage.stranger();
    const { out } = await signIn(person, agent.key, '--format', 'json');
    const login = JSON.parse(out);
    expect(login).toMatchObject({ kind: 'agent', baseUrl: base, keyPrefix: keyDisplayPrefix(agent.key) });
    expect(login.name).toBe(`127.0.0.1-${new URL(base).port}-agent-${agent.key.slice(8, 12)}`);
    expect(login.sealingKeyThumbprint).toBe(jwkThumbprint(login.sealingKey));
    expect(await person.svault(['use', login.name])).toMatchObject({ code: 0 });
  });

  test('on the command line it works, with a warning', async () => {
    const person = stage.stranger();
    const args = ['login', '--key', agent.key, '--base-url', base, '--format', 'name', '--as', 'a'];
    const { code, out, err } = await person.svault(args);
    expect({ code, out }).toEqual({ code: 0, out: 'a\n' });
    expect(err).toMatch(/^warning: /);
    expect(err).not.toContain(agent.key);
  });

  test('that the control plane does not know: exit 3; that is none: exit 2; nothing is kept', async () => {
    const person = stage.stranger();
    const unknown = newKey('svagent');
    const err = expect.stringContaining('INVALID_KEY') as string;
    expect(await signIn(person, unknown)).toEqual({ code: 3, out: '', err });
    expect(await signIn(person, newKey('svadmin'))).toMatchObject({ code: 3, out: '' });
    for (const key of ['secret-of-mine', newKey('svsess'), '']) {
      const refused = await signIn(person, key);
      expect(refused.code).toBe(2);
      if (key !== '') expect(refused.err).not.toContain(key);
    }
    expect(readdirSync(person.dir)).toEqual([]);
  });

  test('whoami says whose it is and how much it may', async () => {
    const person = stage.stranger();
    await signIn(person, agent.key, '--as', 'reader');
    expect((await person.svault(['whoami'])).out).toMatch(/reader(.*\n)*.*svagent_.{4}…\n.*2\n$/);
    const { grants } = JSON.parse((await person.svault(['who', '--format', 'json'])).out);
    expect(grants).toEqual([
      expect.objectContaining({ serviceName: 'github' }),
      expect.objectContaining({ serviceName: 'stripe' }),
    ]);
  });

  test('logout forgets it, and says that the key is still good', async () => {
    const person = stage.stranger();
    await signIn(person, agent.key, '--as', 'reader');
    expect(await person.svault(['logout'])).toEqual({
      code: 0,
      out: '',
      err: `reader and its sealing key are removed from this machine\nits key stays valid at ${new URL(base).host} until an admin revokes it\n`,
    });
    expect(kept(person)).not.toContain(agent.key);
  });

  test('--dry-run sends no request and keeps nothing', async () => {
    const person = stage.stranger();
    const { code, out } = await signIn(person, agent.key, '--dry-run');
    expect({ code, out }).toEqual({ code: 0, out: `GET ${base}/api/agents/credentials\n` });
    expect(readdirSync(person.dir)).toEqual([]);
  });
});

describe('the login to act with', () => {
  const both = async (): Promise<CommandLine> => {
    const person = stage.stranger();
    await signIn(person, stage.pair.adminKey, '--as', 'admin');
    await signIn(person, agent.key, '--as', 'reader');
    return person;
  };
  const current = async (
    person: CommandLine,
    args: string[],
    env: Record<string, string> = {},
  ): Promise<string> => (await person.svault(['context', 'current', ...args], { env })).out;

  test('is named by --context, else SVAULT_KEY, else SVAULT_CONTEXT, else it is the current one', async () => {
    const person = await both();
    const env = { SVAULT_CONTEXT: 'admin', SVAULT_KEY: agent.key, SVAULT_BASE_URL: base };
    expect(await current(person, [])).toBe('reader\n');
    expect(await current(person, [], { SVAULT_CONTEXT: '' })).toBe('reader\n');
    expect(await current(person, [], { SVAULT_CONTEXT: 'admin' })).toBe('admin\n');
    expect(await current(person, [], env)).toBe('env\n');
    expect(await current(person, ['--ctx', 'admin'], env)).toBe('admin\n');
    expect(await current(person, ['--ctx', 'reader'], { SVAULT_CONTEXT: 'admin' })).toBe('reader\n');
  });

  test.each([
    [['--context', 'sea'], {}],
    [[], { SVAULT_CONTEXT: 'sea' }],
  ])('%j %j of an unknown name: exit 2 with the names there are', async (flags, env) => {
    const person = await both();
    expect(await person.svault(['whoami', ...flags], { env: { ...env } })).toEqual({
      code: 2,
      out: '',
      err: 'error: there is no login sea; svault context list shows them: admin, reader\n',
    });
    const list = ['context', 'list', '--format', 'name', ...flags];
    expect(await person.svault(list, { env: { ...env } })).toMatchObject({ code: 0, out: 'admin\nreader\n' });
  });

  test.each([
    ['', base, /^error: SVAULT_KEY is not a key/],
    ['svagent_short', base, /^error: SVAULT_KEY is not a key/],
    [newKey('svagent'), '', /^error: SVAULT_KEY needs SVAULT_BASE_URL/],
    [newKey('svagent'), 'http://evil.example', /^error: http:\/\/evil\.example is not the address/],
    [newKey('svagent'), 'ftp://127.0.0.1', /^error: /],
  ])('SVAULT_KEY %j at %j: exit 2, and no other login acts', async (key, address, said) => {
    const env = { SVAULT_KEY: key, SVAULT_BASE_URL: address ?? '' };
    const { code, out, err } = await (await both()).svault(['whoami'], { env });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(said);
    if (key !== '') expect(err).not.toContain(key);
  });

  test('context list marks it, and shows no secret', async () => {
    const person = await both();
    const { out } = await person.svault(['ctx', 'ls']);
    expect(out).toMatch(/admin +admin .*owner@example\.org/);
    expect(out).toMatch(/reader +\* +agent .*svagent_.{4}…/);
    const chosen = await person.svault(['ctx', 'ls'], { env: { SVAULT_CONTEXT: 'admin' } });
    expect(chosen.out).toMatch(/admin +\* +admin /);
    expect(chosen.out).toMatch(/reader +agent /);
    const all = JSON.parse((await person.svault(['ctx', 'ls', '--format', 'json'])).out);
    expect(all[1]).toEqual({
      name: 'reader',
      kind: 'agent',
      baseUrl: base,
      keyPrefix: keyDisplayPrefix(agent.key),
      current: true,
      secrets: 'file',
    });
  });

  test('where none is the current one: exit 3 and how to choose', async () => {
    const person = await both();
    await person.svault(['context', 'rm', 'reader']);
    for (const [who, err] of [
      [person, 'error: no login is the current one: svault use NAME (admin)\n'],
      [stage.stranger(), 'error: nobody is signed in: svault login --base-url URL\n'],
    ] as const)
      expect(await who.svault(['whoami'])).toEqual({ code: 3, out: '', err });
  });

  test('where npm start has made a pair in this folder: the line that acts as its owner', async () => {
    const person = stage.stranger();
    const pair = join(person.dir, '.svault');
    mkdirSync(pair);
    writeFileSync(join(pair, 'admin.key'), 'k');
    writeFileSync(join(pair, 'ports.env'), 'SVAULT_PORT=9080\nSVAULT_WEBHOOK_PORT=9090\n');
    const { code, err } = await person.svault(['whoami'], { env: { PWD: person.dir } });
    expect(code).toBe(3);
    expect(err).toBe(
      'error: nobody is signed in: svault login --base-url URL; or act as the owner of the pair that npm start made here: ' +
        'export SVAULT_BASE_URL=http://127.0.0.1:9080 SVAULT_WEBHOOK_URL=http://127.0.0.1:9090 SVAULT_KEY=$(cat .svault/admin.key)\n',
    );
    writeFileSync(join(pair, 'ports.env'), 'SVAULT_PORT=evil.example\n');
    const unreadable = await person.svault(['whoami'], { env: { PWD: person.dir } });
    expect(unreadable.err).toBe('error: nobody is signed in: svault login --base-url URL\n');
  });

  test('use and login say what goes before them', async () => {
    const person = await both();
    const env = { SVAULT_CONTEXT: 'reader' };
    expect((await person.svault(['use', 'admin'], { env })).err).toContain('SVAULT_CONTEXT is set');
    expect((await person.svault(['use', 'reader'], { env })).err).not.toContain('SVAULT_CONTEXT');
    const key = { SVAULT_KEY: agent.key, SVAULT_BASE_URL: base };
    expect((await person.svault(['use', 'admin'], { env: key })).err).toContain('SVAULT_KEY is set');
    expect(await person.svault(['logout'], { env: key })).toMatchObject({ code: 2 });
  });

  test('--dry-run changes nothing', async () => {
    const person = await both();
    const before = kept(person);
    for (const args of [['use', 'admin'], ['context', 'rm', 'admin'], ['logout']])
      expect(await person.svault([...args, '--dry-run'])).toMatchObject({ code: 0 });
    expect(kept(person)).toBe(before);
  });
});

describe('names and addresses', () => {
  test.each(['', '-a', '.a', 'a/b', 'a b', '../a', 'a'.repeat(65), 'ä', 'env', '\u001b[2J'])(
    '%j is no name: exit 2',
    async (name) => {
      const { code, out, err } = await signIn(stage.stranger(), agent.key, `--as=${name}`);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toMatch(/^error: \P{Cc}+\n$/u);
    },
  );

  test('a name is not taken from a login of another kind or service: exit 2, and it stays', async () => {
    const person = stage.stranger();
    await signIn(person, agent.key, '--as', 'work');
    const before = kept(person);
    expect(await signIn(person, stage.pair.adminKey, '--as', 'work')).toMatchObject({
      code: 2,
      err: expect.stringContaining('svault context rm work'),
    });
    const elsewhere = ['login', '--key', '-', '--as', 'work', '--base-url', 'http://127.0.0.1:1'];
    expect((await person.svault(elsewhere, { input: agent.key })).code).toBe(2);
    expect(kept(person)).toBe(before);
  });

  test('the control plane is the one of the login of that name, else of the one that acts; else it is asked for', async () => {
    const person = stage.stranger();
    const login = (...more: string[]): Promise<Outcome> =>
      person.svault(['login', '--key', '-', ...more], { input: agent.key });
    expect(await login()).toMatchObject({ code: 2, err: expect.stringContaining('--base-url') });
    await signIn(person, agent.key, '--as', 'work');
    expect(await login('--as', 'work')).toMatchObject({ code: 0 });
    expect(await login('--as', 'play')).toMatchObject({ code: 0 });
    for (const address of ['http://evil.example', 'javascript:1', 'https://a@b', `${base}/?x=1`])
      expect(await login('--base-url', address)).toMatchObject({ code: 2, out: '' });
  });
});
