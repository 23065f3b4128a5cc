import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, watch } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { programEnv } from '@svault/test-kit/program-env';
import { expect } from 'vitest';
import { BIN } from './command-line.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';
import { databaseOf, exportedEvents, writeLog } from './written-log.ts';

/**
 * Exports a log to a file by processes that are killed between any two of their writes, and at last by one that is not.
 * Expects that the state never is ahead of the file, and that the file has every event of the log.
 * @returns how many events it has more than once
 */
export async function expectNoEventLost(options: {
  readonly kills: number;
  readonly events: number;
}): Promise<number> {
  const people = await pairAndPeople();
  try {
    await fill(people, options.events);
    const folder = join(people.admin.dir, 'export');
    await mkdir(folder);
    const [to, state] = [join(folder, 'audit.jsonl'), join(folder, 'audit.state')];
    let killed = 0;
    let repeated = 0;
    for (let hasEnded = false; killed < options.kills || !hasEnded;) {
      const isLast = killed >= options.kills;
      hasEnded = !(await exportUntilKilled(
        people,
        folder,
        isLast ? Infinity : Math.floor(Math.random() * 12),
      ));
      if (hasEnded) {
        repeated += await expectWhole(people, to, options.events);
        for (const file of [to, state]) rmSync(file);
      } else {
        killed += 1;
        expect(newestIn(state)).toBeLessThanOrEqual(newestIn(to));
      }
    }
    return repeated;
  } finally {
    await people.close();
  }
}

async function fill(people: PairAndPeople, count: number): Promise<void> {
  const [event] = await exportedEvents(people);
  const database = databaseOf(people);
  const ids = Array.from({ length: count }, (_, at) => `evt_${at}`);
  writeLog(
    database,
    ids.map((id) => ({ ...event!, id })),
  );
  database.close();
}

/** @returns how many events are in the file more than once */
async function expectWhole({ admin }: PairAndPeople, path: string, events: number): Promise<number> {
  const numbers = textIn(path).slice(0, -1).split('\n').map(numberIn);
  expect([...new Set(numbers)]).toEqual(Array.from({ length: events }, (_, at) => at + 1));
  const { code, err } = await admin.svault(['audit', 'verify', path]);
  expect([code, err]).toEqual([
    0,
    expect.stringMatching(new RegExp(`^the events 1 to ${events} are intact`)),
  ]);
  return numbers.length - events;
}

/** @param writes how many changes of the folder it may make. @returns whether it was killed before it had ended */
async function exportUntilKilled(
  { admin, pair }: PairAndPeople,
  folder: string,
  writes: number,
): Promise<boolean> {
  const args = [
    'audit',
    'export',
    '--to',
    join(folder, 'audit.jsonl'),
    '--state',
    join(folder, 'audit.state'),
  ];
  const child = spawn(process.execPath, [BIN, ...args], {
    stdio: 'ignore',
    env: programEnv({
      ...{ SVAULT_CONFIG_DIR: admin.dir, SVAULT_KEYCHAIN: 'off', SVAULT_KEY: pair.adminKey },
      SVAULT_BASE_URL: pair.controlPlaneUrl(),
    }),
  });
  let left = writes;
  const watcher = watch(folder, () => {
    left -= 1;
    if (left < 0) child.kill('SIGKILL');
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  watcher.close();
  expect([code, signal]).toEqual(code === null ? [null, 'SIGKILL'] : [0, null]);
  return code === null;
}

const textIn = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');
const numberIn = (line: string): number => (JSON.parse(line) as { readonly seq: number }).seq;
/** Of the last line that has an end. */
const newestIn = (path: string): number => textIn(path).split('\n').slice(-2, -1).map(numberIn).at(-1) ?? 0;
