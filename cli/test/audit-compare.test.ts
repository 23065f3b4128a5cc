import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { type ChainedEvent, CHAIN_START } from '@svault/shared/audit-chain';
import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { webhookSubcommand } from '@svault/test-kit/webhook-subcommand';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';
import { databaseOf, exportedEvents, writeLog } from './written-log.ts';

const jobs = jobsByHand();
let people: PairAndPeople;
let database: DatabaseSync;
let copy: string;
/** The log as it was written. */
let events: ChainedEvent[];

const webhook = (...args: readonly string[]) => webhookSubcommand(people.pair, ...args);
const ship = () => jobs.run('audit shipping');
const cause = async (times = 1): Promise<void> => {
  for (let at = 0; at < times; at += 1)
    for (const verb of ['lock', 'unlock']) await people.pair.admin.call('POST', `/api/vault/${verb}`, {});
};
const exportCopy = async (): Promise<void> => writeFileSync(copy, await webhook('audit', 'export'));
const compare = (...args: readonly string[]) => people.admin.svault(['audit', 'compare', ...args]);
const logText = async (): Promise<string> => (await people.admin.svault(['audit', 'export'])).out;
const linesOf = (text: string): string[] => text.trimEnd().split('\n');

beforeAll(async () => {
  people = await pairAndPeople({ startJob: jobs.startJob });
  database = databaseOf(people);
  copy = join(people.pair.dir, 'copy.jsonl');
  const agent = await people.agent('ci', 'github');
  for (const name of ['github', 'npm']) await agent.svault(['get', name]);
  await cause(3);
  await ship();
  await exportCopy();
  people.pair.clock.advance(10 * 60_000);
  events = await exportedEvents(people);
});
afterAll(async () => {
  database.close();
  await people.close();
});
/** Somebody who can write the database computes every hash again. */
const rewrite = (written: readonly ChainedEvent[]) => writeLog(database, written);
beforeEach(() => rewrite(events));

const without = (seq: number) => events.filter((event) => event.seq !== seq);
const changed = (seq: number, change: Partial<ChainedEvent>) =>
  events.map((event) => (event.seq === seq ? { ...event, ...change } : event));
const added = (seq: number) => events.toSpliced(seq - 1, 0, { ...events[0]!, id: 'evt_added' });

test('audit compare says that the log and the copy are the same, live and of two files', async () => {
  const last = events.length;
  const same = `the log and the copy are the same: ${last} events, from 1 to ${last}\n`;
  expect(await compare(copy)).toEqual({ code: 0, out: '', err: same });
  const log = join(people.pair.dir, 'log.jsonl');
  writeFileSync(log, await logText());
  expect(await compare(copy, log)).toEqual({ code: 0, out: '', err: same });
  const { out } = await compare(copy, '--json');
  expect(JSON.parse(out)).toEqual({ same: last, first: 1, last, notes: [] });
});

test.each<[string, () => readonly ChainedEvent[], RegExp]>([
  [
    'an outcome',
    () => changed(5, { outcome: 'denied' }),
    /^error: event 5 has another outcome: "denied" in the log, "success" in the copy$/m,
  ],
  ['a time', () => changed(1, { timestamp: '2026-01-01T00:00:00.000Z' }), /event 1 has another timestamp/],
  ['a detail', () => changed(7, { detail: { code: 'X' } }), /event 7 has another detail\.\w+: /],
  [
    'an origin',
    () => changed(5, { origin: { address: '192.0.2.1' } }),
    /event 5 has another detail\.origin: \{"address":"192\.0\.2\.1"\} in the log/,
  ],
  [
    'an id',
    () => changed(5, { id: 'evt_other' }),
    /event 5 is .* \(evt_other\) in the log, and .* in the copy/,
  ],
  ['an event less', () => without(6), /the copy has .* before event 6, which the log does not have$/m],
  [
    'two events less',
    () => without(6).filter(({ seq }) => seq !== 7),
    /before event 6, which the log does not have, and 1 behind it$/m,
  ],
  ['no first event', () => without(1), /the copy has .* \(evt_.*\), which the log does not have$/m],
  [
    'no last event',
    () => without(events.length),
    /the copy goes on with VAULT_UNLOCKED of .*, behind event \d+, the last of the log: the end of the log was cut off/,
  ],
  ['an event more', () => added(4), /the log has event 4, .* \(evt_added\), which the copy does not have$/m],
])(
  'audit compare names the first difference of a log with all hashes computed again: %s',
  async (_what, tampered, said) => {
    rewrite(tampered());
    expect((await people.admin.svault(['audit', 'verify'])).code).toBe(0);
    expect(await compare(copy)).toMatchObject({
      code: 8,
      out: '',
      err: expect.stringMatching(said) as string,
    });
  },
);

test('audit compare tells retention and events that were not sent yet from a difference', async () => {
  database.exec('DELETE FROM audit_events WHERE seq <= 4');
  database.prepare('UPDATE audit_chains SET start_seq = 4, start_hash = ?').run(events[3]!.hash);
  await cause();
  const { code, err } = await compare(copy);
  const last = events.length;
  expect([code, linesOf(err)]).toEqual([
    0,
    [
      'the log begins with event 5; the copy has 4 from before, as after SV_AUDIT_RETENTION_DAYS',
      `the copy ends before event ${last + 1}: it was not sent yet`,
      `the log and the copy are the same: ${last - 4} events, from 5 to ${last}`,
    ],
  ]);
  database.prepare('UPDATE audit_chains SET start_seq = 0, start_hash = ?').run(CHAIN_START);
});

test('audit compare finds a copy whose file or whose end was cut, and a broken log of the webhook', async () => {
  const cut = join(people.pair.dir, 'cut.jsonl');
  const lines = linesOf(readFileSync(copy, 'utf8'));
  const end = JSON.parse(lines.at(-1)!) as { exportedAt: string; verdict: { entries: number } };
  const compared = async (...written: readonly string[]) => {
    writeFileSync(cut, written.map((line) => `${line}\n`).join(''));
    const { code, err } = await compare(cut);
    return [code, err];
  };
  const said = (text: RegExp) => [8, expect.stringMatching(text)];
  expect(await compared(...lines.slice(0, -1))).toEqual(said(/is cut: its last line/));
  expect(await compared(...lines.slice(0, -3), lines.at(-1)!)).toEqual(
    said(/entries of \d+: lines were removed/),
  );
  expect(await compared(...lines.toSpliced(6, 1))).toEqual(said(/^error: the log has event \d+, /));
  const { verdict, exportedAt } = end;
  const later = new Date(Date.parse(exportedAt) + 600_000).toISOString();
  const shorter = { exportedAt: later, verdict: { ...verdict, entries: verdict.entries - 2 } };
  const message = new RegExp(`the copy ends before event ${events.length - 1}, VAULT_LOCKED .* acknowledged`);
  expect(await compared(...lines.slice(0, -3), JSON.stringify(shorter))).toEqual(said(message));
  const broken = {
    exportedAt,
    verdict: { ok: false, epoch: 'e', seq: 3, problem: 'this entry was changed' },
  };
  expect(await compared(...lines.slice(0, -1), JSON.stringify(broken))).toEqual(
    said(/own log is broken at epoch e, seq 3/),
  );
});

test('audit compare tells a webhook that was restored from a backup from a copy that lacks events', async () => {
  const file = join(people.pair.dir, 'webhook.backup');
  await webhook('backup', file);
  const last = events.length;
  await cause();
  await ship();
  await people.pair.stop('webhook');
  renameSync(join(people.pair.dir, 'webhook'), join(people.pair.dir, 'webhook-before'));
  await webhook('restore-backup', file);
  await people.pair.start('webhook');
  await exportCopy();
  const { code, err } = await compare(copy);
  expect([code, err]).toEqual([
    0,
    `the copy ends before event ${last + 1}: the webhook was restored from a backup\n` +
      `the log and the copy are the same: ${last} events, from 1 to ${last}\n`,
  ]);
  people.pair.clock.advance(60 * 60_000);
  await cause();
  await ship();
  await exportCopy();
  const after = await compare(copy);
  expect(after.err).toMatch(
    new RegExp(
      `^the copy does not have the events ${last + 1} to ${last + 2}, after which the webhook was restored`,
    ),
  );
  expect(after.code).toBe(0);
});
