import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FLAWS } from '../fixtures/flaws.ts';
import { SERVICE_URL } from '../fixtures/minimal.ts';
import { selectChecks } from '../src/registry.ts';
import { loadRequirements } from '../src/requirements.ts';
import { useCommandLine } from './command-line.ts';

/** The requirement that the check of these examples observes. */
const observed = loadRequirements().get(selectChecks(['ticket.single-use'])[0]?.requirements[0] ?? '');
const line = useCommandLine();
const { run, runWith, targetFlags, bindLink } = line;

function file(name: string, text: string): string {
  const path = join(line.dir, name);
  writeFileSync(path, text);
  return path;
}

const BROKEN = FLAWS['ticket.single-use']?.changed ?? {};
const ONE = ['--only', 'ticket.single-use'] as const;

describe('exit 0', () => {
  test('if the webhook conforms, with a summary as the last line', async () => {
    expect(await run(...(await targetFlags()), '--only', 'health', 'ticket.single-use')).toBe(0);
    expect(line.out.join('\n').split('\n').at(-1)).toMatch(/^\d+ passed, 0 failed, 0 warnings, 0 skipped$/);
  });

  test('for --list, which needs no webhook', async () => {
    expect(await run('run', '--list', ...ONE)).toBe(0);
    expect(line.out).toEqual([`ticket.single-use\t${observed?.id}\ta ticket delivers once`]);
  });

  test('for checks of capabilities that the webhook does not claim', async () => {
    const signedHealth = { status: 'ok', capabilities: [] };
    expect(await run(...(await targetFlags({ signedHealth })), ...ONE, '--verbose')).toBe(0);
    expect(line.out.join('\n')).toContain('skip  ticket.single-use  (the webhook does not claim credential)');
  });

  test.each([
    ['a YAML list', '- ticket.single-use # until the next release\n'],
    ['lines', '# known\nticket.single-use\n'],
  ])('for failures that a baseline names, as %s', async (_, baseline) => {
    const flags = [...(await targetFlags(BROKEN)), ...ONE, '--baseline', file('baseline', baseline)];
    expect(await run(...flags)).toBe(0);
    expect(line.out.join('\n')).toContain('baseline: 1 failure expected');
  });

  test('for entries of a baseline that --only leaves out', async () => {
    const baseline = file('baseline', 'health.open');
    expect(await run(...(await targetFlags()), ...ONE, '--baseline', baseline)).toBe(0);
  });
});

describe('exit 1', () => {
  test('if a MUST fails, with the request, the response, the expectation and the requirement', async () => {
    expect(await run(...(await targetFlags(BROKEN)), ...ONE)).toBe(1);
    const report = line.out.join('\n');
    expect(report).toContain('FAIL  ticket.single-use');
    expect(report).toContain(`${observed?.id} (MUST, section ${observed?.section}): “${observed?.sentence}”`);
    expect(report).toMatch(/sent:\n +GET \/v1\/credential\?ticket=/);
    expect(report).toMatch(/the ticket \(query\): \{"alg":"HS256".*\n +\{"iss":"https:/);
    expect(report).toMatch(/came back:\n +200/);
    expect(report).toMatch(/expected:\n +401 with \{ error, code: TICKET_INVALID \}/);
  });

  test('if nothing listens', async () => {
    const flags = await targetFlags();
    await line.webhook?.close();
    expect(await run(...flags, '--only', 'health.open')).toBe(1);
    expect(line.out.join('\n')).toMatch(/ECONNREFUSED/);
    expect(line.out.join('\n')).toContain('hint: nothing listens at this address');
  });

  test.each([
    ['fails and is not listed', BROKEN, 'health.open', 'ticket.single-use failed and is not listed'],
    ['is listed and passes', {}, 'ticket.single-use', 'ticket.single-use is listed and passes: take it out'],
    ['is listed and is none', {}, 'ticket.nothing', 'ticket.nothing is listed and is the id of no check'],
  ])('if a check %s in a baseline', async (_, changed, listed, said) => {
    const flags = [...(await targetFlags(changed)), ...ONE, '--baseline', file('baseline', listed)];
    expect(await run(...flags)).toBe(1);
    expect(line.out.join('\n')).toContain(`baseline: ${said}`);
  });
});

describe('exit 2', () => {
  const LINK = `${SERVICE_URL}/vault/webhook-bind?code=0b5e0bb5-8e4c-4d0f-9a55-3c1c3a4c7d10`;
  test.each([
    ['nothing given', [], /^error: say which webhook, in one of these ways:/],
    [
      'half a target',
      ['--secret', 'x', '--key-id', 'k'],
      /^error: missing: --webhook-id, --webhook-url, --service-url$/,
    ],
    ['two targets', ['--secret', 'x', '--bind-link', 'y'], /exclude each other/],
    ['an unknown flag', ['--what'], /unknown option '--what'/],
    ['an unknown command', ['what'], /too many arguments|unknown command/],
    [
      'an unknown check',
      ['--list', '--only', 'ticket.nothing'],
      /^error: no check is called ticket\.nothing$/,
    ],
    ['an unknown format', ['--format', 'pdf'], /choices/],
    ['a report of no format', ['--report', 'a.pdf', '--list', '--bind-link', LINK], /^$/],
    [
      'a secret file that is not there',
      ['--secret-file', '/does/not/exist'],
      /^error: cannot read \/does\/not\/exist: ENOENT/,
    ],
    ['a link without its address', ['--bind-link', LINK], /^error: the link has no webhook_url$/],
    [
      'an empty link',
      ['--bind-link', ''],
      /^error: the bind link is empty: is the webhook still bound\? Erase/,
    ],
    ['a link that is no URL', ['--bind-link', 'hello'], /^error: the link has no/],
    ['no seconds', ['--timeout', '0'], /at most 600 seconds/],
    ['a port that is none', ['--upstream-listen', '127.0.0.1:99999', '--bind-link', LINK], /is HOST:PORT/],
    [
      'an upstream that could be anywhere',
      ['--upstream-url', 'https://up.example', '--bind-link', LINK],
      /needs --upstream-listen/,
    ],
  ] as const)('for %s', async (what, args, said) => {
    expect(await run(...args)).toBe(what === 'a report of no format' ? 0 : 2);
    expect(line.err.join('\n')).toMatch(said);
    expect(line.err.join('\n')).not.toContain('0b5e0bb5');
  });

  test('for a secret that is not a key', async () => {
    const flags = await targetFlags();
    expect(await run(...flags.slice(0, -1), 'c2hvcnQ')).toBe(2);
    expect(line.err.join('\n')).toContain('the secret is base64url of 32 bytes');
  });

  test('for a port that is taken', async () => {
    const flags = await targetFlags();
    expect(await run(...flags, '--upstream-listen', new URL(line.webhook?.url ?? '').host)).toBe(2);
    expect(line.err.join('\n')).toMatch(/^error: the suite cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE/);
  });

  test('for a file that is not a baseline', async () => {
    const baseline = file('baseline', '{ a: 1 }');
    expect(await run(...(await targetFlags()), '--baseline', baseline)).toBe(2);
    expect(line.err.join('\n')).toContain('it is no list of check ids');
  });
});

test('exit 130 if it is interrupted, with a report on the checks that ran', async () => {
  const interrupted = new AbortController();
  const flags = await targetFlags();
  const status = (): void => interrupted.abort();
  expect(await runWith({ signal: interrupted.signal, status }, ...flags, '--only', 'health')).toBe(130);
  expect(line.out.join('\n')).toContain('interrupted: 1 check had run');
});

describe('a binding', () => {
  test('is made by a link, stored for its owner only, and reused', async () => {
    const saved = join(line.dir, 'binding.json');
    const link = await bindLink();
    const first = await runWith(
      { input: async () => `Open this:\n${link}\n` },
      '--bind-link',
      '-',
      '--save-binding',
      saved,
      ...ONE,
    );
    expect([first, line.err.filter((line) => line.startsWith('error'))]).toEqual([0, []]);
    expect(statSync(saved).mode & 0o777).toBe(0o600);
    expect(await run('--binding', saved, ...ONE)).toBe(0);
    expect(line.out.join('\n')).not.toContain(/code=([0-9a-f-]+)/.exec(link)?.[1]);
  });

  test('is stored with the key that the webhook accepts after the run', async () => {
    const saved = join(line.dir, 'binding.json');
    await run('--bind-link', await bindLink(), '--save-binding', saved, ...ONE);
    const before = readFileSync(saved, 'utf8');
    await run('--binding', saved, '--only', 'rotation');
    expect(readFileSync(saved, 'utf8')).not.toBe(before);
    expect(await run('--binding', saved, '--only', 'health.signed')).toBe(0);
  });

  test('replaces no file, and leaves none without a binding', async () => {
    const there = file('there.json', 'mine');
    expect(await run('--bind-link', await bindLink(), '--save-binding', there, ...ONE)).toBe(2);
    expect(line.err.at(-1)).toBe(`error: ${there} exists already; use --binding ${there}, or delete it`);
    expect(readFileSync(there, 'utf8')).toBe('mine');
    const link = await bindLink();
    await line.webhook?.close();
    const saved = join(line.dir, 'binding.json');
    expect(await run('--bind-link', link, '--save-binding', saved, ...ONE)).toBe(1);
    expect(() => statSync(saved)).toThrow('ENOENT');
  });
});

test('reports go to files by extension, and to stdout in the requested format', async () => {
  const paths = ['a.txt', 'a.json', 'a.xml', 'a.html'].map((name) => join(line.dir, name));
  const flags = paths.flatMap((path) => ['--report', path]);
  await run(...(await targetFlags()), ...ONE, '--format', 'json', ...flags);
  expect(JSON.parse(line.out.join('\n'))).toMatchObject({ schema: 1, conforms: true });
  const [text, json, xml, html] = paths.map((path) => readFileSync(path, 'utf8'));
  expect(text).toContain('pass  ticket.single-use');
  expect(JSON.parse(json ?? '')).toMatchObject({ conforms: true });
  expect(xml).toMatch(/^<\?xml/);
  expect(html).toMatch(/^<!doctype html>/);
});

test('colours are used only on terminals that support them', async () => {
  const flags = await targetFlags();
  await runWith({ color: true }, ...flags, ...ONE);
  await runWith({ color: true }, ...flags, ...ONE, '--no-color');
  expect(line.out.map((text) => text.includes('\u001b['))).toEqual([true, false]);
});
