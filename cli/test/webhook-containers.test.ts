import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { type CommandLine, type Outcome, someone } from './command-line.ts';
import { fakeCompose } from './fake-compose.ts';

/** As compose 2 prints it. */
const TABLE = 'NAME  IMAGE  COMMAND  SERVICE  CREATED  STATUS  PORTS';
const HEALTHY = `case "$*" in
  "config --services") echo webhook; echo tunnel;;
  "ps webhook"|"ps tunnel") echo '${TABLE}'; echo "x-$2-1  i  c  $2  1 minute ago  Up 10 seconds (healthy)";;
  up*) echo 'Container x-webhook-1  Started' >&2;;
esac`;

let person: CommandLine;
let folder: string;
beforeEach(async () => {
  person = someone();
  folder = join(person.dir, 'project');
  const urls = ['SV_WEBHOOK_URL=https://hook.example.org', 'SV_WEBHOOK_SERVICE_URL=https://service.test'];
  const set = urls.flatMap((pair) => ['--set', pair]);
  const { code, err } = await person.svault(['webhook', 'init', folder, '--method', 'custom', ...set]);
  if (code !== 0) throw new Error(err);
});

const matching = (text: RegExp): string => expect.stringMatching(text) as string;
/** Of the project, where these programs are. */
const up = (PATH: string, env: Record<string, string> = {}, ...more: readonly string[]): Promise<Outcome> =>
  person.svault(['webhook', 'up', folder, ...more], { env: { PATH, ...env } });
const down = (PATH: string): Promise<Outcome> =>
  person.svault(['webhook', 'down', folder], { env: { PATH } });

describe('up', () => {
  test.each([{}, { v1: true }] as const)(
    'starts the project and waits until it is healthy (%j)',
    async (options) => {
      const compose = fakeCompose(person.dir, HEALTHY, options);
      const { code, out, err } = await up(compose.path);
      expect({ code, out }).toEqual({ code: 0, out: '' });
      expect(err).toMatch(
        /^Container x-webhook-1 {2}Started\n.*https:\/\/hook\.example\.org\n.*svault webhook bind.*\n$/,
      );
      expect(compose.calls()).toEqual([
        'config --quiet',
        'ps',
        'up --detach --remove-orphans',
        'config --services',
        'ps webhook',
        'ps tunnel',
      ]);
    },
  );

  test('what compose says goes to stderr, and moves no cursor', async () => {
    const noisy = `${HEALTHY}\ncase "$1" in up) printf 'on stdout \\033[2J\\n'; printf 'on stderr \\033[2J\\n' >&2;; esac`;
    const { code, out, err } = await up(fakeCompose(person.dir, noisy).path);
    expect({ code, out }).toEqual({ code: 0, out: '' });
    for (const said of ['on stdout  [2J\n', 'on stderr  [2J\n']) expect(err).toContain(said);
    expect(err).not.toContain('\u001b');
  });

  test('gives compose neither our secrets nor what would take the place of .env', async () => {
    const compose = fakeCompose(person.dir, HEALTHY);
    const env = {
      SVAULT_KEY: 'svadmin_x',
      SV_WEBHOOK_URL: 'https://evil.test',
      COMPOSE_FILE: '/etc/evil.yaml',
    };
    await up(compose.path, env);
    expect(compose.calls().filter((line) => line.includes('='))).toEqual([]);
  });

  test.each([
    [
      'an unhealthy service',
      `case "$*" in "config --services") echo webhook;; "ps webhook") echo 'webhook Up 1 minute (unhealthy)';; esac`,
      5,
      /^error: webhook runs, but is not healthy: docker compose logs webhook\n$/,
    ],
    [
      'a start that fails',
      `case "$1" in up) echo 'pull access denied' >&2; exit 1;; esac`,
      5,
      /^pull access denied\nerror: not all of it starts/,
    ],
    [
      'an engine that is away',
      `case "$1" in ps) echo Traceback; echo 'no such \u001b[31msocket' >&2; exit 1;; esac`,
      5,
      /^error: no container engine answers.*\(no such {2}\[31msocket\)\n$/,
    ],
    [
      'a project that is not complete',
      `case "$1" in config) echo 'set SVAULT_UID in .env' >&2; exit 15;; esac`,
      2,
      /^set SVAULT_UID in \.env\nerror: the project in .* is not complete/,
    ],
  ])('%s is one clear line', async (_what, script, code, said) => {
    const { path } = fakeCompose(person.dir, script);
    const outcome = await up(path);
    expect(outcome).toEqual({ code, out: '', err: matching(said) });
  });

  test('says where neither version of compose is installed', async () => {
    const err = matching(/^error: neither docker compose nor docker-compose.*https:\/\/docs\.docker\.com/);
    expect(await up(join(person.dir, 'nothing'))).toEqual({ code: 5, out: '', err });
  });

  test.each([
    ['compose.yaml', 0o666],
    ['.env', 0o660],
    // Whoever may write there puts another file in its place, or one beside it that compose adds to it.
    ['.', 0o770],
    ['compose.override.yaml', 0o664],
    ['docker-compose.override.yml', 0o646],
  ])('runs no project where others can change %s', async (name, mode) => {
    const compose = fakeCompose(person.dir, HEALTHY);
    const path = join(folder, name);
    if (name.includes('override')) writeFileSync(path, 'services: {}\n');
    chmodSync(path, mode);
    const { code, err } = await up(compose.path);
    expect([code, err]).toEqual([
      2,
      matching(/^error: \S+ belongs to another user or can be changed by others/),
    ]);
    expect(err).toContain(`${path} `);
    expect(() => compose.calls()).toThrow();
  });

  test('runs a project with additions of its owner’s', async () => {
    writeFileSync(join(folder, 'compose.override.yaml'), 'services: {}\n', { mode: 0o644 });
    const compose = fakeCompose(person.dir, HEALTHY);
    expect(await up(compose.path)).toMatchObject({ code: 0 });
  });

  test('runs no compose file that svault did not write', async () => {
    const compose = fakeCompose(person.dir, HEALTHY);
    writeFileSync(join(folder, '.env'), 'A=1\n');
    const err = matching(/^error: there is no webhook project in .*: name the folder.*svault webhook init/);
    for (const command of [up, down]) expect(await command(compose.path)).toEqual({ code: 2, out: '', err });
  });

  test('Ctrl-C ends compose', async () => {
    const { path } = fakeCompose(person.dir, `case "$1" in up) exec /bin/sleep 60;; esac`);
    const interruption = new AbortController();
    const options = { env: { PATH: path }, signal: interruption.signal };
    const running = person.svault(['webhook', 'up', folder], options);
    setTimeout(() => interruption.abort(), 100);
    expect(await running).toEqual({ code: 130, out: '', err: '' });
  });

  test('under --dry-run nothing is run', async () => {
    const err = matching(/^would run, in .*: docker compose up --detach\n$/);
    expect(await up(join(person.dir, 'nothing'), {}, '--dry-run')).toEqual({ code: 0, out: '', err });
  });
});

describe('down', () => {
  test('stops the project, keeps its data and says what that means', async () => {
    const compose = fakeCompose(person.dir, '');
    const { code, out, err } = await down(compose.path);
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(err).toMatch(/no credential can be delivered/);
    expect(compose.calls()).toEqual(['config --quiet', 'ps', 'down --remove-orphans']);
  });

  test('says that credentials may still be delivered where it fails', async () => {
    const { path } = fakeCompose(person.dir, `case "$1" in down) exit 1;; esac`);
    const { code, err } = await down(path);
    expect([code, err]).toEqual([1, expect.stringMatching(/^error: .*may still be delivered/)]);
  });
});
