import { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { BIN, type CommandLine } from './command-line.ts';
import { fakeServer } from './fake-servers.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';
import { type PersonAtBrowser, personAtBrowser } from './person-at-browser.ts';

let stage: PairAndPeople;
let ada: PersonAtBrowser;
beforeAll(async () => {
  stage = await pairAndPeople();
  ada = await personAtBrowser(stage.pair);
});
afterAll(() => stage.close());

/** A desktop whose browser only notes what it was started with. */
function desktop(person: CommandLine, exitCode = 0): { readonly PATH: string; opened(): string } {
  const path = join(person.dir, 'bin');
  mkdirSync(path);
  const notes = join(person.dir, 'opened');
  for (const name of ['xdg-open', 'open']) {
    writeFileSync(
      join(path, name),
      `#!/bin/sh\n{ echo "$#" "$1"; /usr/bin/env; } > '${notes}.part'\n/bin/mv '${notes}.part' '${notes}'\nexit ${exitCode}\n`,
    );
    chmodSync(join(path, name), 0o755);
  }
  return { PATH: path, opened: () => readFileSync(notes, 'utf8') };
}

/** Runs a command and reads along. */
function sitting(
  person: CommandLine,
  args: readonly string[],
  {
    signal,
    ...env
  }: { PATH?: string; signal?: AbortSignal; SVAULT_KEY?: string; SVAULT_BASE_URL?: string } = {},
) {
  let shownSoFar = '';
  let onText = (): void => undefined;
  const stdin = new PassThrough();
  const done = person.svault(args, {
    stdin,
    env: { SVAULT_BASE_URL: stage.pair.controlPlaneUrl(), PATH: '/nowhere', ...env },
    ...(signal && { signal }),
    onErr: (text) => {
      shownSoFar = text;
      onText();
    },
  });
  /** The text that follows a word on stderr, once it is printed. */
  const shown = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      onText = () => {
        const found = pattern.exec(shownSoFar)?.[1];
        if (found !== undefined) resolve(found);
      };
      onText();
      void done.then((outcome) => reject(new Error(JSON.stringify(outcome))), reject);
    });
  return { done, shown, stdin };
}

const OPENING = /^opening (\S+)\n.*\n/m;
/** As far as the listener: the public address of a pair in a test is one that nothing listens at. */
const follow = (url: string | URL): Promise<Response> => fetch(url, { redirect: 'manual' });

async function signIn(person: CommandLine, name: string): Promise<void> {
  const login = sitting(person, ['login', '--as', name]);
  await follow((await ada.decide(await login.shown(OPENING), 'allow')).location);
  expect(await login.done).toMatchObject({ code: 0 });
}

describe('login by browser', () => {
  test('opens the page, takes the one right answer, and keeps a session', async () => {
    const person = stage.stranger();
    const { PATH, opened } = desktop(person);
    const login = sitting(person, ['login'], { PATH, SVAULT_KEY: stage.pair.adminKey });
    const page = await login.shown(OPENING);
    const { location } = await ada.decide(page, 'allow');
    const answer = new URL(location);
    for (const query of ['state=clr_other&code=x', `${answer.search.slice(1)}&code=another`])
      expect((await fetch(new URL(`?${query}`, answer))).status).toBe(404);
    expect((await fetch(answer, { method: 'POST' })).status).toBe(404);
    const shown = await follow(answer);
    expect(shown.status).toBe(303);
    expect(shown.headers.get('location')).toBe(`${new URL(page).origin}/login/cli?outcome=allowed`);
    expect(await shown.text()).toBe('');

    const { code, out, err } = await login.done;
    expect({ code, out }).toEqual({ code: 0, out: '' });
    for (const said of [`signed in at ${answer.hostname}`, ada.email, 'secrets.json'])
      expect(err).toContain(said);
    expect(err).toMatch(/it has to show [A-Z]{4}-[A-Z]{4}; allow it there/);
    await expect(fetch(answer)).rejects.toThrow();

    // The desktop takes its own time.
    await vi.waitFor(() => expect(opened().split('\n')[0]).toBe(`1 ${page}`), 10_000);
    expect(opened()).not.toContain(stage.pair.adminKey);
    expect(await person.svault(['whoami'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('a session'),
    });
    expect(await person.svault(['vault', 'status'])).toMatchObject({ code: 0 });
  });

  test('without a browser the command says what to do instead', async () => {
    const person = stage.stranger();
    const login = sitting(person, ['login'], { PATH: desktop(person, 3).PATH });
    await login.shown(/(no browser could be opened)/);
    const { location } = await ada.decide(await login.shown(OPENING), 'allow');
    await follow(location);
    expect(await login.done).toMatchObject({ code: 0 });
  });

  test('denied: exit 3, and nothing is kept', async () => {
    const person = stage.stranger();
    const login = sitting(person, ['login']);
    const { location } = await ada.decide(await login.shown(OPENING), 'deny');
    expect((await follow(location)).headers.get('location')).toMatch(/\/login\/cli\?outcome=denied$/);
    expect(await login.done).toMatchObject({ code: 3, out: '', err: expect.stringContaining('was denied') });
    expect(readdirSync(person.dir)).toEqual([]);
  });

  test('Ctrl-C ends the wait, and nothing listens any more', async () => {
    const interruption = new AbortController();
    const login = sitting(stage.stranger(), ['login'], { signal: interruption.signal });
    const { location } = await ada.decide(await login.shown(OPENING), 'allow');
    interruption.abort();
    expect(await login.done).toMatchObject({ code: 130, out: '' });
    await expect(fetch(location)).rejects.toThrow();
  });

  test('a code that is not the control plane’s: exit 3', async () => {
    const login = sitting(stage.stranger(), ['login']);
    const { location } = await ada.decide(await login.shown(OPENING), 'allow');
    const forged = new URL(location);
    forged.searchParams.set('code', 'forged');
    await follow(forged);
    expect(await login.done).toMatchObject({
      code: 3,
      err: expect.stringMatching(/\nerror: .*UNAUTHENTICATED/),
    });
  });

  test.each([
    'javascript:alert(1)',
    'file:///etc/passwd',
    'http://evil.example/',
    'https://me@evil.example/',
    '-a',
    'https://a.example/$(id)',
    'https://a.example/;id',
    `https://a.example/${'a'.repeat(2_000)}`,
  ])('a control plane that wants %s opened: exit 1, and nothing is', async (authorizeUrl) => {
    const body = { requestId: 'clr_x', authorizeUrl, userCode: 'ABCD-EFGH', expiresInSeconds: 9 };
    const { url: SVAULT_BASE_URL } = await fakeServer(() => ({ body }));
    const person = stage.stranger();
    const { PATH, opened } = desktop(person);
    const err = expect.stringMatching(/^error: .* not a plain https .*\n$/) as string;
    expect(await sitting(person, ['login'], { PATH, SVAULT_BASE_URL }).done).toEqual({
      code: 1,
      out: '',
      err,
    });
    expect(opened).toThrow('ENOENT');
  });

  test('--no-launch-browser shows the address, and takes the code that the page shows', async () => {
    const person = stage.stranger();
    const { PATH, opened } = desktop(person);
    const login = sitting(person, ['login', '--no-launch-browser', '--format', 'json'], { PATH });
    const { page } = await ada.decide(await login.shown(/^open (\S+)\n.*\n/m), 'allow');
    login.stdin.end(`${/id="copied">([^<]+)</.exec(page)?.[1] ?? ''}\n`);
    const { code, out } = await login.done;
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      kind: 'admin',
      name: expect.stringMatching(/^127\.0\.0\.1-\d+$/),
      baseUrl: stage.pair.controlPlaneUrl(),
      email: ada.email,
    });
    expect(opened).toThrow('ENOENT');
  });

  test('--dry-run shows the request, and sends none', async () => {
    const person = stage.stranger();
    const { PATH, opened } = desktop(person);
    const { code, out } = await sitting(person, ['login', '--dry-run', '--format', 'json'], { PATH }).done;
    expect(code).toBe(0);
    const url = `${stage.pair.controlPlaneUrl()}/api/cli/login/begin`;
    expect(JSON.parse(out)).toMatchObject({ method: 'POST', url });
    expect(opened).toThrow('ENOENT');
  });
});

describe('a session', () => {
  const secretsOf = (person: CommandLine): { secrets: Record<string, Record<string, string>> } =>
    JSON.parse(readFileSync(join(person.dir, 'secrets.json'), 'utf8'));
  /** Changes what is kept of the only login. */
  function change(person: CommandLine, changed: Record<string, string>): void {
    const kept = secretsOf(person);
    for (const secrets of Object.values(kept.secrets)) Object.assign(secrets, changed);
    writeFileSync(join(person.dir, 'secrets.json'), JSON.stringify(kept));
  }
  const only = (person: CommandLine): Record<string, string> =>
    Object.values(secretsOf(person).secrets)[0] ?? {};
  const PAST = { accessExpiresAt: '2020-01-01T00:00:00.000Z' };
  let person: CommandLine;
  beforeAll(async () => {
    person = stage.stranger();
    await signIn(person, 'work');
  });

  test('that is about to end is renewed once, by however many commands at once', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { refreshToken } = only(person);
      change(person, PAST);
      const all = await Promise.all(
        ['whoami', 'whoami', 'ls', 'whoami'].map((command) => person.svault([command])),
      );
      expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
      expect(only(person)['refreshToken']).not.toBe(refreshToken);
      // Later than the control plane would forgive that one token comes twice.
      stage.pair.clock.advance(11_000);
    }
    expect(await person.svault(['whoami'])).toMatchObject({ code: 0 });
  });

  test('is not renewed where the next one could not be kept: with the used one it would be over', async () => {
    change(person, PAST);
    // As on a full disk: no file can have a byte, and a program that goes on gets an error.
    const full = ['/bin/sh', '-c', 'ulimit -f 0; exec "$0" "$@"', process.execPath] as const;
    const goingOn = ['--import', "data:text/javascript,process.on('SIGXFSZ', () => undefined)"];
    const { code, err } = await person.spawned(['whoami'], {
      program: [...full, ...goingOn, BIN],
      env: { NODE_DISABLE_COMPILE_CACHE: '1' },
    });
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/^error: \S+secrets\.json cannot be written: [^\n]+\n$/),
    });
    expect(readdirSync(person.dir)).toEqual(['contexts.json', 'secrets.json']);
    stage.pair.clock.advance(11_000);
    expect(await person.svault(['whoami'])).toMatchObject({ code: 0, err: '' });
  });

  test('whose access token the control plane does not know is renewed as well', async () => {
    change(person, { accessToken: `svcli_${'A'.repeat(43)}` });
    expect(await person.svault(['whoami'])).toMatchObject({ code: 0, err: '' });
  });

  test('that the control plane has ended: exit 3 and how to sign in again; which keeps the name', async () => {
    const { call } = stage.pair.admin;
    const { items } = await call<{ items: { id: string; kind: string }[] }>('GET', '/api/sessions');
    for (const { id, kind } of items) if (kind === 'cli') await call('DELETE', `/api/sessions/${id}`);
    expect(await person.svault(['whoami'])).toEqual({
      code: 3,
      out: '',
      err: expect.stringMatching(/^error: the session of work at .* has ended: svault login --as work\n$/),
    });
    await signIn(person, 'work');
    expect((await person.svault(['context', 'list', '--format', 'name'])).out).toBe('work\n');
  });

  test('is ended at the control plane by logout, and by the login that takes its place', async () => {
    const ends = async (action: () => Promise<unknown>): Promise<void> => {
      const authorization = `Bearer ${only(person)['accessToken']}`;
      const ask = async (): Promise<number> =>
        (await fetch(`${stage.pair.controlPlaneUrl()}/api/me`, { headers: { authorization } })).status;
      expect(await ask()).toBe(200);
      await action();
      expect(await ask()).toBe(401);
    };
    await ends(() => signIn(person, 'work'));
    await ends(async () =>
      expect(await person.svault(['logout'])).toEqual({
        code: 0,
        out: '',
        err: 'work is removed from this machine\n',
      }),
    );
    expect(JSON.stringify(secretsOf(person))).not.toContain('svcli');
  });

  test('is forgotten though the control plane is away, which is said', async () => {
    await signIn(person, 'work');
    const path = join(person.dir, 'contexts.json');
    const contexts = readFileSync(path, 'utf8');
    writeFileSync(path, contexts.replace(stage.pair.controlPlaneUrl(), 'http://127.0.0.1:1'));
    const { code, err } = await person.svault(['logout']);
    expect(code).toBe(0);
    expect(err).toMatch(
      /^work is removed from this machine\nits session at 127\.0\.0\.1:1 could not be ended /,
    );
    expect((await person.svault(['whoami'])).code).toBe(3);
  });
});
