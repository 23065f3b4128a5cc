import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type ChainedEvent, CHAIN_START, eventHash } from '@svault/shared/audit-chain';
import { describe, expect, test } from 'vitest';
import { someone } from './command-line.ts';

type Line = ChainedEvent & { readonly previousHash?: string };

/** A log of so many events, numbered from 1. */
function logOf(count: number, change: (event: Line) => Line = (event) => event): Line[] {
  const lines: Line[] = [];
  let previousHash = CHAIN_START;
  for (let seq = 1; seq <= count; seq += 1) {
    const event = change({
      ...{ vaultId: 'vlt_1', seq, id: `evt_${seq}`, eventType: 'LOGIN', outcome: 'success' },
      ...{ timestamp: '2026-11-20T12:00:00.000Z', detail: { n: seq, list: ['é'] }, previousHash, hash: '' },
    });
    const hash = eventHash(previousHash, event);
    lines.push({ ...event, hash });
    previousHash = hash;
  }
  return lines;
}
const LOG = logOf(12);
const hashOf = (seq: number): string => LOG[seq - 1]!.hash;
const textOf = (lines: readonly unknown[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const verify = (input: string, ...args: readonly string[]) =>
  someone().svault(['audit', 'verify', '-', ...args], { input });

describe('audit verify FILE', () => {
  test('says from where to where an exported file is intact, without a login, and as JSON', async () => {
    const path = join(someone().dir, 'audit.jsonl');
    writeFileSync(path, textOf(LOG));
    const { code, out, err } = await someone().svault(['audit', 'verify', path, '--json']);
    expect([code, err]).toEqual([0, `the events 1 to 12 are intact; the last has the hash ${hashOf(12)}\n`]);
    expect(JSON.parse(out)).toMatchObject({ intact: true, from: 1, to: 12, repeated: 0 });
  });

  test('accepts members that it does not know, a part of a log, and events that are there more than once', async () => {
    const known = LOG.map((line) => ({ agentName: 'ci', ...line, newer: { a: [1.5, null] } }));
    expect((await verify(textOf(known))).code).toBe(0);
    expect((await verify(textOf(known.slice(4)))).err).toMatch(/^the events 5 to 12 are intact/);
    const twice = [...LOG.slice(0, 9), ...LOG.slice(6)];
    expect((await verify(textOf(twice))).err).toMatch(
      /^the events 1 to 12 are intact; 3 are in it more than once/,
    );
  });

  test('ties two files together by the hash of the event before, and the end by the hash of the last', async () => {
    const { previousHash: _left, ...first } = LOG[5]!;
    const second = textOf([first, ...LOG.slice(6)]);
    expect((await verify(second)).err).toMatch(/event 6, the first, does not say which hash is before it/);
    expect((await verify(second, '--previous', hashOf(5), '--head', hashOf(12))).code).toBe(0);
    expect(await verify(second, '--previous', hashOf(4))).toMatchObject({ code: 8 });
    expect(await verify(textOf(LOG.slice(5)), '--previous', hashOf(4))).toMatchObject({ code: 8 });
    const cut = await verify(textOf(LOG.slice(0, 11)), '--head', hashOf(12));
    expect([cut.code, cut.err]).toEqual([
      8,
      expect.stringMatching(/the last event, number 11, has not the hash/),
    ]);
    expect(await verify(second, '--head', 'x')).toMatchObject({ code: 2 });
  });

  const changed = (seq: number, change: object) =>
    LOG.map((line) => (line.seq === seq ? { ...line, ...change } : line));
  test.each<[string, readonly unknown[], RegExp]>([
    ['a changed event', changed(5, { outcome: 'denied' }), /^error: event 5 was changed$/m],
    ['a changed origin', changed(5, { origin: { address: '192.0.2.1' } }), /^error: event 5 was changed$/m],
    ['a changed hash', changed(5, { hash: hashOf(4) }), /^error: event 5 was changed$/m],
    [
      'a changed event with a hash that fits it',
      changed(5, { outcome: 'denied', hash: eventHash(hashOf(4), { ...LOG[4]!, outcome: 'denied' }) }),
      /^error: event 6 does not follow event 5 as it is here: that one was changed$/m,
    ],
    ['a missing event', LOG.filter(({ seq }) => seq !== 7), /^error: event 7 is missing$/m],
    ['missing events', LOG.filter(({ seq }) => seq < 7 || seq > 9), /^error: the events 7 to 9 are missing/m],
    [
      'an added event',
      LOG.toSpliced(4, 0, { ...LOG[0]!, seq: 3, id: 'evt_x' }),
      /^error: event 3 is another one than before/m,
    ],
    [
      'another account',
      [...LOG.slice(0, 5), { ...LOG[5]!, vaultId: 'vlt_2' }],
      /event 6 is of another account/,
    ],
    [
      'the newest first',
      LOG.toReversed(),
      /event 11 is behind event 12: newest first, a log cannot be verified/,
    ],
    ['no event', [], /- has no event/],
  ])('names what is wrong with %s: exit 8', async (_what, lines, said) => {
    expect(await verify(textOf(lines))).toMatchObject({
      code: 8,
      out: '',
      err: expect.stringMatching(said) as string,
    });
  });

  const nested = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  test.each<[string, string | Uint8Array, RegExp]>([
    ['half a line', textOf(LOG).slice(0, -40), /line 12 is no event of a log: it is not whole JSON/],
    ['a list', '[]\n', /line 1 is no event of a log: it is not a JSON object/],
    ['deep nesting', `{"a":${nested}}\n`, /nested more than 32 deep/],
    [
      'a member twice',
      textOf(LOG).replace('{"vaultId"', '{"seq":1,"vaultId"'),
      /a member stands in it twice/,
    ],
    ['NUL', '{"seq":\0}\n', /it is not whole JSON/],
    ['a number that is too large', textOf(LOG).replace('"n":1', '"n":1e400'), /a number in it is too large/],
    [
      'an integer that is too large',
      textOf(LOG).replace('"n":1', '"n":9007199254740993'),
      /a number in it is too large/,
    ],
    [
      'a fraction in the detail',
      textOf(LOG).replace('"n":1', '"n":1.5'),
      /line 1 is no event of a log: detail\.n/,
    ],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0xff, 0x7d, 0x0a]), /it is not UTF-8/],
    [
      'no account',
      textOf([{ ...LOG[0], vaultId: undefined }]),
      /vaultId is missing: svault audit export writes it/,
    ],
    ['an escape sequence', textOf([{ ...LOG[0], seq: '\u001b[2J' }]), /line 1 is no event of a log: seq/],
  ])('rejects a file with %s by one line', async (_what, content, said) => {
    const path = join(someone().dir, 'audit.jsonl');
    writeFileSync(path, content);
    const { code, out, err } = await someone().svault(['audit', 'verify', path]);
    expect([code, out, err.split('\n').length]).toEqual([8, '', 2]);
    expect(err).toMatch(said);
  });

  test('reads no more of a line without an end than any event has', async () => {
    let read = 0;
    const endless = Readable.from(
      (function* () {
        for (; read < 1_600; read += 1) yield Buffer.alloc(64 * 1024, 'x');
      })(),
    );
    const { code, err } = await someone().svault(['audit', 'verify', '-'], { stdin: endless });
    expect([code, err]).toEqual([8, 'error: a line has more than 1 MiB: no event of a log is that long\n']);
    expect(read).toBeLessThan(100);
  });

  test('says of a file that is not there or is a folder why it cannot be read', async () => {
    for (const path of ['/nowhere/audit.jsonl', someone().dir]) {
      const { code, err } = await someone().svault(['audit', 'verify', path]);
      expect([code, err]).toEqual([1, expect.stringMatching(/^error: .* cannot be read: /)]);
    }
  });
});
