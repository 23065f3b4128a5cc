import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { programEnv } from '@svault/test-kit/program-env';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { someone } from './command-line.ts';
import { BIN } from './command-line.ts';
import { listening } from './fake-servers.ts';
import { expectNoEventLost } from './kill-exports.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
beforeAll(async () => {
  people = await pairAndPeople();
  const agent = await people.agent('ci', 'github');
  for (const name of ['github', 'npm']) await agent.svault(['get', name]);
});
afterAll(() => people.close());

const audit = async (...args: readonly string[]) => people.admin.svault(['audit', ...args]);
const linesOf = (text: string): string[] => text.split('\n').slice(0, -1);
const numbersIn = (text: string): number[] =>
  linesOf(text).map((line) => (JSON.parse(line) as { seq: number }).seq);
const upTo = (length: number): number[] => Array.from({ length }, (_, at) => at + 1);
const fileOf = (name: string, text?: string): string => {
  const path = join(people.admin.dir, name);
  if (text !== undefined) writeFileSync(path, text);
  return path;
};
const exported = async (...args: readonly string[]): Promise<string> => {
  const { code, out, err } = await audit('export', ...args);
  expect([code, err]).toEqual([0, '']);
  return out;
};

describe('audit export', () => {
  test('writes the whole log oldest first, which audit verify accepts without a login', async () => {
    const out = await exported();
    const numbers = numbersIn(out);
    expect(numbers).toEqual(upTo(numbers.length));
    const { code, err } = await someone().svault(['audit', 'verify', '-'], { input: out });
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/^the events 1 to \d+ are intact; the last has the hash [0-9a-f]{64}\n$/),
    ]);
    expect(await exported('--after', String(numbers.length - 2))).toBe(
      linesOf(out).slice(-2).join('\n').concat('\n'),
    );
    expect(await exported('--after', String(numbers.length))).toBe('');
  });

  test('goes on behind the last event that its state file has, and says where the log is another one', async () => {
    const state = fileOf('resumed.state');
    const to = fileOf('resumed.jsonl');
    await exported('--state', state, '--to', to);
    const first = readFileSync(to, 'utf8');
    expect(statSync(state).mode & 0o777).toBe(0o600);
    expect(statSync(to).mode & 0o777).toBe(0o600);
    // What a killed process left: half a line, and a state that does not know of the last event.
    const lines = linesOf(first);
    const [before] = lines.slice(-2).map((line) => JSON.parse(line) as { seq: number; hash: string });
    writeFileSync(state, JSON.stringify({ seq: before!.seq, hash: before!.hash }));
    writeFileSync(to, `${first}{"seq":`);
    await people.admin.svault(['vault', 'lock']);
    await people.admin.svault(['vault', 'unlock']);
    await exported('--state', state, '--to', to);
    const all = readFileSync(to, 'utf8');
    const count = lines.length;
    expect(numbersIn(all)).toEqual([...upTo(count), count, count + 1, count + 2]);
    const verified = await audit('verify', to);
    expect(verified).toMatchObject({
      code: 0,
      err: expect.stringMatching(/; 1 are in it more than once;/) as string,
    });
    writeFileSync(state, JSON.stringify({ seq: 3, hash: '0'.repeat(64) }));
    expect(await audit('export', '--state', state)).toEqual({
      code: 8,
      out: '',
      err: 'error: event 3 is another one than before: the log was changed\n',
    });
    writeFileSync(state, JSON.stringify({ seq: 9999, hash: '0'.repeat(64) }));
    const gone = /^error: the log does not reach event 9999, which was exported before/;
    expect(await audit('export', '--state', state)).toMatchObject({
      code: 8,
      err: expect.stringMatching(gone) as string,
    });
    expect(await audit('export', '--follow', '--state', state)).toMatchObject({
      code: 8,
      err: expect.stringMatching(gone) as string,
    });
    expect(await audit('export', '--after', '1', '--state', state)).toMatchObject({ code: 2 });
    writeFileSync(state, '{}');
    expect(await audit('export', '--state', state)).toMatchObject({ code: 1 });
  });

  test('ends where nobody reads its output any more, and does not note events that nobody got', async () => {
    const state = fileOf('unread.state');
    const child = spawn(process.execPath, [BIN, 'audit', 'export', '--state', state], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: programEnv({
        ...{ SVAULT_CONFIG_DIR: people.admin.dir, SVAULT_KEYCHAIN: 'off', SVAULT_KEY: people.pair.adminKey },
        SVAULT_BASE_URL: people.pair.controlPlaneUrl(),
      }),
    });
    child.stdout.destroy();
    const [[code], said] = await Promise.all([once(child, 'close'), text(child.stderr)]);
    expect([code, said]).toEqual([1, 'error: nobody reads the output any more\n']);
    expect(existsSync(state)).toBe(false);
  });

  test('follows the log over a restart of the control plane, without a gap and without a twin', async () => {
    const stop = new AbortController();
    const to = fileOf('followed.jsonl');
    const before = linesOf(await exported()).length;
    // A port of its own, at which the control plane is there again after the restart.
    const proxy = createServer((req, res) => {
      void fetch(people.pair.controlPlaneUrl() + req.url, {
        headers: { authorization: req.headers.authorization! },
      })
        .then(async ({ status, body }) => {
          res.writeHead(status);
          for await (const chunk of body!) res.write(chunk);
          res.end();
        })
        .catch(() => res.destroy());
    });
    const SVAULT_BASE_URL = await listening(proxy);
    const running = people.admin.svault(['audit', 'export', '--follow', '--to', to], {
      env: { SVAULT_BASE_URL },
      signal: stop.signal,
    });
    const has = (count: number) =>
      vi.waitFor(() => expect(linesOf(readFileSync(to, 'utf8')).length).toBe(count), 60_000);
    await has(before);
    await people.pair.stop('control-plane');
    await people.pair.start('control-plane');
    for (const verb of ['lock', 'unlock']) await people.pair.admin.call('POST', `/api/vault/${verb}`, {});
    await has(before + 2);
    stop.abort();
    expect((await running).code).toBe(130);
    expect(numbersIn(readFileSync(to, 'utf8'))).toEqual(upTo(before + 2));
  });
});

// 100 kills: audit-export-kill.hard.test.ts.
test('An export to a file with a state loses no event to a kill', async () => {
  await expectNoEventLost({ kills: 5, events: 2_000 });
});
