import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { main } from '../src/command.ts';
import { CHECKS, selectChecks } from '../src/registry.ts';
import { isInstalled } from './example-webhook.ts';
import { freePort } from './free-port.ts';
import { requirements } from './suite.ts';

const PAGE = fileURLToPath(new URL('../../docs/webhook-authors/authoring.md', import.meta.url));
const page = readFileSync(PAGE, 'utf8');

/** The suite's commands for its readers, without the program's name; page-commands runs the others. */
const COMMANDS = [...page.matchAll(/^```sh\n(npx svault-conformance .*?)^```$/gms)]
  .flatMap(([, block = '']) => block.trim().split('\n'))
  .map((line) => [line.slice('npx svault-conformance '.length), line] as const)
  .map(([command, line]) => ({ command, line, args: [...command.matchAll(/"[^"]*"|[^\s"]+/g)].map(String) }));
const SUBCOMMANDS = ['sign', 'verify', 'vectors', 'ticket'];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svault-authoring-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs a command as it stands on the page, files apart: those are in the test's folder. */
async function run(args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  const out: string[] = [];
  const inFolder = args.map((arg) => (/^\w+\.txt$/.test(arg) ? join(folder, arg) : arg));
  const code = await main(inFolder, { out: (text) => out.push(text), err: (text) => out.push(text) });
  return { code, out: out.join('\n') };
}

test('the page has commands', () => {
  expect(COMMANDS.length).toBeGreaterThan(10);
  for (const { line } of COMMANDS) expect(line).toMatch(/^npx svault-conformance /);
});

test.each(COMMANDS)('every flag exists in: $command', async ({ args }) => {
  const subcommand = SUBCOMMANDS.find((each) => each === args[0]);
  const { out: help } = await run([...(subcommand === undefined ? [] : [subcommand]), '--help']);
  const flags = args.filter((arg) => arg.startsWith('--'));
  const known = new Set(help.match(/--[a-z-]+/g));
  expect(flags.filter((flag) => !known.has(flag))).toEqual([]);
});

test.each(COMMANDS.filter(({ args }) => args.includes('--only')))('runs something: $command', ({ args }) => {
  const after = args.slice(args.indexOf('--only') + 1);
  const end = after.findIndex((arg) => arg.startsWith('--'));
  expect(() => selectChecks(end === -1 ? after : after.slice(0, end))).not.toThrow();
});

test('every check that the page names exists', () => {
  const areas = new Set(CHECKS.map(({ id }) => id.split('.', 1)[0]));
  const named = [...page.matchAll(/`([a-z-]+\.[a-z0-9-]+)`/g)].map(([, id = '']) => id);
  const meant = named.filter((id) => areas.has(id.split('.', 1)[0]));
  expect(meant.length).toBeGreaterThan(25);
  for (const id of meant) expect(CHECKS.map((check) => check.id)).toContain(id);
});

test('every requirement that the page names exists', () => {
  const named = page.match(/\b[A-Z]{3}-\d\d\b/g) ?? [];
  expect(named.filter((id) => !requirements.has(id))).toEqual([]);
});

test('every link of the page has a target', () => {
  const targets = [...page.matchAll(/\]\(([^)#]+)\)/g)].map(([, target = '']) => join(dirname(PAGE), target));
  expect(targets.filter((target) => !existsSync(target))).toEqual([]);
});

describe('the commands that need no webhook work as written:', () => {
  const command = (start: string): readonly string[] =>
    COMMANDS.find(({ command: text }) => text.startsWith(start))?.args ?? [];

  test.each(COMMANDS.filter(({ args }) => args[0] === 'vectors'))('$command', async ({ args }) => {
    const { code, out } = await run(args.slice(0, 2));
    expect(code).toBe(0);
    expect(out).toMatch(/"(?:expect|allowed|digest)"/);
  });

  test('sign and verify, on the protocol’s own example', async () => {
    const body = '{"op":"tokens.get","serviceName":"github"}';
    const request = `POST /v1/storage HTTP/1.1\ncontent-type: application/json\n\n${body}`;
    await writeFile(join(folder, 'request.txt'), request);
    await writeFile(join(folder, 'key.txt'), 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n');
    const sign = command('sign');
    expect((await run(sign)).out).toContain('6+kPjvIbbl4kriUchXQi6F0rJNjJatstjh+7u2S/+ew=');

    await writeFile(join(folder, 'received.txt'), (await run([...sign, '--message'])).out);
    expect((await run(command('verify'))).out).toContain('accepted');

    await writeFile(join(folder, 'received.txt'), `${(await run([...sign, '--message'])).out} `);
    expect((await run(command('verify'))).out).toContain(
      'refused by SIG-52: the digest is not that of the body',
    );
  });
});

describe.skipIf(!isInstalled(['python3', '--version']))('the twenty lines to start with', () => {
  const code = /<!-- runs: start\.py -->\s+```python\n(.*?)```/s.exec(page)?.[1] ?? '';
  const against = /<!-- runs: against start\.py -->\s+```sh\nnpx svault-conformance (.*)\n```/.exec(
    page,
  )?.[1];

  test('are at most twenty lines', () => {
    expect(code.trim().split('\n').length).toBeLessThanOrEqual(20);
  });

  test('pass the check that they are run against', async () => {
    const port = await freePort();
    await writeFile(join(folder, 'start.py'), code);
    const env = { ...process.env, PORT: String(port) };
    const child = spawn('python3', ['start.py'], { cwd: folder, env, stdio: 'ignore' });
    try {
      await listening(port);
      const { code: exit, out } = await run((against ?? '').replace('8090', String(port)).split(' '));
      expect(out).toContain('ok    health         1 of 1 passed');
      expect(exit).toBe(0);
    } finally {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    }
  });
});

async function listening(port: number): Promise<void> {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer !== undefined) return;
    await delay(20);
  }
}
