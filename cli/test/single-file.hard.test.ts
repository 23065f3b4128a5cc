import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BuiltClient, runBuilt, testsOfBuiltClient } from './built-client.ts';
import { builtSingleFile } from './built-single-file.ts';
import type { CommandLine, CommandLineOptions, Outcome } from './command-line.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let built: BuiltClient;
let people: PairAndPeople;

beforeAll(async () => {
  const [program, others] = await Promise.all([builtSingleFile(), pairAndPeople()]);
  people = others;
  built = { program, people };
});
afterAll(() => people.close());

const svault = (
  who: CommandLine,
  args: readonly string[],
  options: CommandLineOptions = {},
): Promise<Outcome> => runBuilt(built, who, args, options);

testsOfBuiltClient(() => built);

test('it needs neither Node nor anything else on the path', async () => {
  const env = { PATH: '/nonexistent' };
  expect(await svault(people.stranger(), ['--version'], { env })).toMatchObject({ code: 0, err: '' });
});

test('the keychain’s code is unpacked to a folder of this user alone, and mended where it is not as built', async () => {
  const stranger = people.stranger();
  const signIn = async (): Promise<Outcome> =>
    svault(stranger, ['login', '--key', '-', '--base-url', people.pair.controlPlaneUrl()], {
      input: people.pair.adminKey,
      env: { SVAULT_KEYCHAIN: '', DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent' },
    });
  const folder = join(stranger.dir, '.cache/svault/keyring');
  // There is not a keychain here, so the secrets go to a file; that takes the code that asks for one.
  const first = await signIn();
  expect(first.code).toBe(0);
  expect(first.err).toMatch(/D-?Bus/i);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(readdirSync(folder)).toEqual(['keyring.node']);
  const file = join(folder, 'keyring.node');
  const built = readFileSync(file);
  writeFileSync(file, 'something else');
  expect((await signIn()).code).toBe(0);
  expect(readFileSync(file).equals(built)).toBe(true);
});

test('a cache folder that others can write to is not used, and nothing fails', async () => {
  const stranger = people.stranger();
  const caches = join(stranger.dir, 'shared');
  mkdirSync(join(caches, 'svault'), { recursive: true, mode: 0o777 });
  const signedIn = await svault(
    stranger,
    ['login', '--key', '-', '--base-url', people.pair.controlPlaneUrl()],
    { input: people.pair.adminKey, env: { SVAULT_KEYCHAIN: '', XDG_CACHE_HOME: caches } },
  );
  expect(signedIn.code).toBe(0);
  expect(readdirSync(join(caches, 'svault'), { recursive: true })).not.toContain('keyring/keyring.node');
});
