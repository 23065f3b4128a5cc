import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ChainedEvent,
  CHAIN_START,
  checkpointText,
  createCosignerKey,
  createLogKey,
  eventHash,
} from '@svault/shared/audit-chain';
import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { webhookSubcommand } from '@svault/test-kit/webhook-subcommand';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { someone } from './command-line.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

const VAULT = 'vlt_1';
const ORIGIN = `svault.example.org/${VAULT}`;
const LOG_KEY = createLogKey(ORIGIN, new Uint8Array(32).fill(1));
const WEBHOOK_KEY = createCosignerKey('vault.example.org', new Uint8Array(32).fill(2));
const OTHER_KEY = createCosignerKey('vault.example.org', new Uint8Array(32).fill(3));
const KEYS = ['--key', LOG_KEY.vkey, '--key', WEBHOOK_KEY.vkey];

/** A log of so many events, numbered from 1, as `audit export` writes it. */
function logOf(count: number, outcomeOf: (seq: number) => string = () => 'success'): ChainedEvent[] {
  const events: ChainedEvent[] = [];
  let previousHash = CHAIN_START;
  for (let seq = 1; seq <= count; seq += 1) {
    const event = {
      ...{ vaultId: VAULT, seq, id: `evt_${seq}`, eventType: 'LOGIN', outcome: outcomeOf(seq) },
      ...{ timestamp: '2026-11-20T12:00:00.000Z', previousHash },
    };
    previousHash = eventHash(previousHash, event);
    events.push({ ...event, hash: previousHash });
  }
  return events;
}
const LOG = logOf(12);

function noteOf(log: readonly ChainedEvent[], { size = log.length, origin = ORIGIN } = {}): string {
  const text = checkpointText({ origin, size, hash: log[size - 1]!.hash });
  const signature = createLogKey(origin, new Uint8Array(32).fill(1)).sign(text);
  return `${text}\n${signature}${WEBHOOK_KEY.cosign(text, 0)}`;
}

describe('audit verify FILE --checkpoint', () => {
  const verify = (log: readonly object[], note: string, args: readonly string[] = KEYS) => {
    const path = join(someone().dir, 'checkpoint.txt');
    writeFileSync(path, note);
    const input = log.map((event) => `${JSON.stringify(event)}\n`).join('');
    return someone().svault(['audit', 'verify', '-', '--checkpoint', path, ...args], { input });
  };

  test('says that a log has the signed event, which may be followed by more and preceded by none', async () => {
    const note = noteOf(LOG, { size: 9 });
    for (const log of [LOG, LOG.slice(0, 9), LOG.slice(8)]) {
      const { code, err } = await verify(log, note);
      expect([code, err]).toEqual([
        0,
        expect.stringMatching(
          /are intact.*\nevent 9 is the one of the checkpoint of svault\.example\.org\/vlt_1\n$/,
        ),
      ]);
    }
  });

  test.each<[string, readonly object[], string, RegExp]>([
    [
      'that was rewritten, with every hash computed again',
      logOf(12, (seq) => (seq === 3 ? 'denied' : 'success')),
      noteOf(LOG),
      /^error: event 12 has not the hash that was signed: it or one before it was changed$/m,
    ],
    [
      'that was cut',
      LOG.slice(0, 11),
      noteOf(LOG),
      /^error: event 12, which the checkpoint is about, is missing$/m,
    ],
    ['that begins behind it', LOG.slice(5), noteOf(LOG, { size: 5 }), /^error: event 5, .* is missing$/m],
    [
      'of another account',
      LOG,
      noteOf(LOG, { origin: 'svault.example.org/vlt_2' }),
      /^error: .* is not signed by the key svault\.example\.org\/vlt_1\+/m,
    ],
    [
      'with a changed note',
      LOG,
      noteOf(LOG).replace('\n12\n', '\n11\n'),
      /^error: .* is not signed by the key /m,
    ],
    ['with no note', LOG, 'a\n\nb\n', /^error: .* is no checkpoint: /m],
  ])('rejects a log %s: exit 8', async (_what, log, note, said) => {
    expect(await verify(log, note)).toMatchObject({ code: 8, err: expect.stringMatching(said) as string });
  });

  test('needs the signature of every given key, and at least one key', async () => {
    const note = noteOf(LOG);
    expect(await verify(LOG, note, ['--key', WEBHOOK_KEY.vkey])).toMatchObject({ code: 0 });
    expect(await verify(LOG, note, [...KEYS, '--key', OTHER_KEY.vkey])).toMatchObject({
      code: 8,
      err: expect.stringContaining(`is not signed by the key ${OTHER_KEY.vkey}`) as string,
    });
    expect(
      await verify(LOG, noteOf(LOG, { origin: 'svault.example.org/vlt_2' }), KEYS.slice(2)),
    ).toMatchObject({
      code: 8,
      err: expect.stringMatching(
        /the checkpoint is of svault\.example\.org\/vlt_2, and the events are of vlt_1/,
      ) as string,
    });
    for (const args of [[], ['--key', 'x'], ['--key', WEBHOOK_KEY.vkey.slice(0, -4)]])
      expect(await verify(LOG, note, args)).toMatchObject({ code: 2 });
    for (const args of [
      ['-', '--key', WEBHOOK_KEY.vkey],
      ['--key', WEBHOOK_KEY.vkey],
    ])
      expect(await someone().svault(['audit', 'verify', ...args])).toMatchObject({ code: 2 });
  });
});

describe('audit checkpoint', () => {
  const jobs = jobsByHand();
  let people: PairAndPeople;
  beforeAll(async () => {
    people = await pairAndPeople({ startJob: jobs.startJob });
  });
  afterAll(() => people.close());

  test('says what to do while there is none, then prints the note and the keys by which an export verifies', async () => {
    const { admin, pair } = people;
    expect(await admin.svault(['audit', 'checkpoint'])).toMatchObject({
      out: '',
      err: expect.stringMatching(/no checkpoint of the audit log yet.*svault webhook status/) as string,
    });
    await jobs.run('audit shipping');
    const printed = await vi.waitFor(
      async () => {
        pair.clock.advance(60_000);
        await jobs.run('audit checkpoints');
        const answer = await admin.svault(['audit', 'checkpoint']);
        expect(answer.code).toBe(0);
        return answer;
      },
      { timeout: 20_000, interval: 50 },
    );
    const [note, log] = [join(pair.dir, 'checkpoint.txt'), join(pair.dir, 'audit.jsonl')];
    writeFileSync(note, printed.out);
    writeFileSync(log, (await admin.svault(['audit', 'export'])).out);
    const keys = (await admin.svault(['audit', 'checkpoint', '--keys'])).out.trimEnd().split('\n');
    expect((await webhookSubcommand(pair, 'audit', 'checkpoint', '--keys')).trimEnd().split('\n')).toEqual(
      keys,
    );
    const given = keys.flatMap((key) => ['--key', key]);
    const { code, err } = await someone().svault(['audit', 'verify', log, '--checkpoint', note, ...given]);
    expect([code, err]).toEqual([
      0,
      expect.stringContaining('is the one of the checkpoint of 127.0.0.1:1/vlt_'),
    ]);
    const { out } = await admin.svault(['audit', 'checkpoint', '--json']);
    expect(JSON.parse(out)).toEqual({
      ...{ checkpoint: printed.out, keys, at: expect.any(String) as string },
      size: Number(printed.out.split('\n')[1]),
    });
  });
});
