import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { CommandLine, CommandLineOptions, Outcome } from './command-line.ts';
import type { PairAndPeople } from './pair-and-people.ts';

/** The client as it is built, and a pair that it is used with; known once the `beforeAll` of a file has run. */
export interface BuiltClient {
  readonly program: readonly [string, ...string[]];
  readonly people: PairAndPeople;
}

export const runBuilt = (
  { program }: BuiltClient,
  who: CommandLine,
  args: readonly string[],
  options: CommandLineOptions = {},
): Promise<Outcome> => who.spawned(args, { ...options, program });

/** What every form of the client does. @param built asked by each test */
export function testsOfBuiltClient(built: () => BuiltClient): void {
  const svault = (
    who: CommandLine,
    args: readonly string[],
    options: CommandLineOptions = {},
  ): Promise<Outcome> => runBuilt(built(), who, args, options);

  test('it knows its version and its commands', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    const stranger = built().people.stranger();
    expect(await svault(stranger, ['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
    const { code, out } = await svault(stranger, ['--help']);
    expect(code).toBe(0);
    expect(out).toMatch(/^Usage: svault /);
  });

  test('a secret goes in by stdin and comes out as it was, for an agent with a grant alone', async () => {
    const { people } = built();
    const { admin } = people;
    const secret = randomBytes(16).toString('hex');
    const created = await svault(admin, ['tokens', 'create', 'mail'], { input: secret });
    expect({ ...created, err: '' }).toEqual({ code: 0, out: '', err: '' });
    const [reader, other] = await Promise.all([people.agent('reader', 'mail'), people.agent('other')]);
    expect(await svault(reader, ['get', 'mail'])).toEqual({ code: 0, out: secret, err: '' });
    expect(await svault(reader, ['get', 'mail', '--check'])).toMatchObject({ code: 0, out: '' });
    expect((await svault(other, ['get', 'mail'])).code).not.toBe(0);
    const listed = await svault(admin, ['ls', '--format', 'name']);
    expect(listed).toEqual({ code: 0, out: 'mail\n', err: '' });
  });

  test('a sample of the table ends as it does with Node', async () => {
    const { admin, pair } = built().people;
    await pair.admin.call('POST', '/api/agents', { name: 'sampler' });
    const project = join(admin.dir, 'project');
    const set = [
      'SV_WEBHOOK_URL=https://vault.example.org',
      'SVAULT_WEBHOOK_IMAGE=svault-webhook:0.1.0',
    ].flatMap((pair) => ['--set', pair]);
    const withoutImage = set.slice(0, 2);
    for (const [args, exit, shown] of [
      [['ag', 'list'], 0, /sampler/],
      [['agents', 'show', 'sampler', '--format', 'json'], 0, /"status": "active"/],
      [['gr', 'add', 'sampler', 'anything', '--expires', '1h', '--allow-missing'], 0, /^$/],
      [['grants', 'list', 'sampler'], 0, /anything/],
      [['gr', 'rm', 'sampler', 'anything'], 0, /^$/],
      [['ag', 'off', 'sampler'], 0, /^$/],
      [['vault', 'stat'], 0, /unlocked/],
      [['wh', 'status'], 0, /127\.0\.0\.1/],
      [['wh', 'init', project, '--method', 'custom', ...set], 0, /^$/],
      // It brings no sources, from which the image could be built.
      [['wh', 'init', `${project}-2`, '--method', 'custom', ...withoutImage], 2, /^$/],
      [['wh', 'up', admin.dir], 2, /^$/],
      [['tk', 'info', 'nothing-of-that-name'], 4, /^$/],
      [['rm', 'nothing-of-that-name', '--dry-run', '--yes'], 0, /^DELETE /],
      [['completion', 'fish'], 0, /complete/],
      [['explain', 'NO_GRANT'], 0, /^NO_GRANT/],
    ] as const) {
      const said = await svault(admin, args);
      expect([args.join(' '), said.code, said.out]).toEqual([
        args.join(' '),
        exit,
        expect.stringMatching(shown),
      ]);
    }
  });

  test('exec hands a credential to a command', async () => {
    const { people } = built();
    await svault(people.admin, ['tokens', 'create', 'build'], { input: 'of-the-build' });
    const agent = await people.agent('builder', 'build');
    const args = ['exec', '--with', 'TOKEN=build', '--', '/bin/sh', '-c', 'printf "<%s>" "$TOKEN"'];
    expect(await svault(agent, args)).toMatchObject({ code: 0, out: '<of-the-build>' });
  });

  test('an error is one line and an exit code', async () => {
    const stranger = built().people.stranger();
    for (const [args, exit] of [
      [['frobnicate'], 2],
      [['explain', 'NO_SUCH_CODE'], 2],
      [['whoami'], 3],
    ] as const) {
      const { code, out, err } = await svault(stranger, args);
      expect({ code, out }).toEqual({ code: exit, out: '' });
      expect(err).toMatch(/^error: [^\n]+\n$/);
    }
  });
}
