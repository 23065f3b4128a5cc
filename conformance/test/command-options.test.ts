import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHECKS, selectChecks } from '../src/registry.ts';
import { loadRequirements } from '../src/requirements.ts';
import { useCommandLine } from './command-line.ts';

const line = useCommandLine();
const { run, targetFlags } = line;

interface Logged {
  readonly check?: string;
  readonly request: { readonly method: string; readonly path: string };
  readonly answer: { readonly status: number; readonly body: string };
  readonly tickets?: ReadonlyArray<{ readonly claims: string }>;
  readonly aliases?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const logged = (path: string): readonly Logged[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text) as Logged);

test('--skip leaves out a check or an area, and may be repeated', async () => {
  expect(await run('--list', '--only', 'health', 'cors', '--skip', 'health.open', '--skip', 'cors')).toBe(0);
  const ids = selectChecks(['health']).map(({ id }) => id);
  expect(line.out.map((text) => text.split('\t', 1)[0])).toEqual(ids.filter((id) => id !== 'health.open'));
});

test('--skip of what is no check ends with exit 2', async () => {
  expect(await run('--list', '--skip', 'helth')).toBe(2);
  expect(line.err).toEqual(['error: no check is called helth']);
});

test('a report says how many checks were left out', async () => {
  await run(...(await targetFlags()), '--only', 'health.open');
  expect(line.out.join('\n')).toContain(`left out: ${CHECKS.length - 1} of ${CHECKS.length} checks`);
});

test('--fast runs a check of every requirement that any check observes, but those that only waiting ones do', () => {
  const observedBy = (checks: typeof CHECKS): ReadonlySet<string> =>
    new Set(checks.flatMap(({ requirements }) => requirements));
  const fast = selectChecks([], { fast: true });
  expect(fast.filter((check) => 'waitsFor' in check)).toEqual([]);
  const missing = [...observedBy(CHECKS)].filter((id) => !observedBy(fast).has(id));
  expect(missing).toEqual(['TRN-25']);
  expect(fast.length).toBeLessThan(loadRequirements().size);
});

test('--log writes each request with its answer and its check, and then what the aliases stand for', async () => {
  const path = join(line.dir, 'run.jsonl');
  await run(...(await targetFlags()), '--only', 'ticket.single-use', '--log', path);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const lines = logged(path);
  const its = lines.filter(({ check }) => check === 'ticket.single-use');
  expect(
    its.map(({ request, answer }) => [request.method, request.path.split('?', 1)[0], answer.status]),
  ).toEqual([
    ['POST', '/v1/store', 200],
    ['GET', '/v1/credential', 200],
    ['GET', '/v1/credential', 401],
    ['GET', '/v1/credential', 401],
  ]);
  expect(JSON.parse(its[1]?.tickets?.[0]?.claims.replaceAll('<time>', '0') ?? '')).toMatchObject({
    op: 'credential',
  });
  const value = /canary-(<\d+>)/.exec(its[1]?.answer.body ?? '')?.[1] ?? '';
  expect(lines.at(-1)?.aliases?.['ticket.single-use']?.[value]).toMatch(/^[A-Za-z0-9_-]{22}$/);
});

test('the logs of two runs say the same, line by line', async () => {
  const paths = ['one.jsonl', 'other.jsonl'].map((name) => join(line.dir, name));
  for (const path of paths) {
    await run(...(await targetFlags()), '--only', 'ticket', 'name', '--log', path);
    await line.webhook?.close();
  }
  const [one, other] = paths.map((path) =>
    logged(path)
      .slice(0, -1)
      .map(({ check, request, answer }) => [check, request.method, answer.status]),
  );
  expect(one?.length).toBeGreaterThan(100);
  expect(one).toEqual(other);
});

test('--restart runs a command and waits for the webhook; without it, its checks are skipped', async () => {
  const flags = [...(await targetFlags()), '--only', 'restart.used-tickets', 'restart.used-nonces'];
  expect(await run(...flags, '--restart', `touch ${join(line.dir, 'restarted')}`)).toBe(0);
  expect(statSync(join(line.dir, 'restarted')).isFile()).toBe(true);
  expect(line.out.join('\n')).toContain('2 passed, 0 failed');
  expect(await run(...flags)).toBe(0);
  expect(line.out.join('\n')).toContain('0 of 2 passed, 2 skipped: no --restart');
});

test('--approver-link has the suite decide; without it, what needs an approver is skipped', async () => {
  const flags = [...(await targetFlags()), '--only', 'approvals.approved', 'approvals.link-once'];
  const link = line.webhook?.approverLink() ?? '';
  expect(await run(...flags, '--approver-link', link)).toBe(0);
  expect(line.out.join('\n')).toContain('2 of 2 passed');
  const again = line.webhook?.approverLink() ?? '';
  const input = async (): Promise<string> => `${again}\n\nExpires  soon\n`;
  expect(await line.runWith({ input }, ...flags, '--approver-link', '-')).toBe(0);
  expect(await run(...flags)).toBe(0);
  expect(line.out.join('\n')).toContain('0 of 2 passed, 2 skipped: no --approver-link');
});

test.each(['https://another.example/approvers/new?code=a', 'nonsense', ''])(
  'an --approver-link that is none of this webhook ends with exit 2: %s',
  async (link) => {
    expect(await run(...(await targetFlags()), '--only', 'approvals', '--approver-link', link)).toBe(2);
    expect(line.err.join('\n')).toContain('--approver-link: this is no link for an approver of this webhook');
  },
);

test('a --restart that fails makes its checks fail, with the exit code of the command', async () => {
  expect(await run(...(await targetFlags()), '--only', 'restart', '--restart', 'exit 3')).toBe(1);
  expect(line.out.join('\n')).toContain('not testable: the command of --restart ended with 3');
});

test('--badge writes what a whole run came to, and is refused for less than that', async () => {
  expect(await run(...(await targetFlags()), '--fast', '--badge', join(line.dir, 'badge.svg'))).toBe(2);
  expect(line.err.at(-1)).toBe('error: --badge is for a whole run: leave out --only, --skip and --fast');
});
