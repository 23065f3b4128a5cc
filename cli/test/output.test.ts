import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { printValue } from '../src/commands/tokens/get.ts';
import type { Format } from '../src/global-flags.ts';
import type { Invocation } from '../src/invocation.ts';
import { jsonText } from '../src/output/json-text.ts';
import { exactLine, plainLine } from '../src/output/plain-line.ts';
import {
  type Shape,
  distance,
  printDone,
  printList,
  printOne,
  timeAndDistance,
} from '../src/output/print.ts';
import { cut, fit } from '../src/output/table.ts';
import { wantsColor } from '../src/output/wants-color.ts';
import { invocationAt, seat } from './command-line.ts';

interface Star {
  readonly name: string;
  readonly notes: string;
  readonly seenAt: string | null;
}

const STARS: Shape<Star> = {
  columns: [
    { title: 'name', of: ({ name }) => name },
    { title: 'notes', of: ({ notes }) => notes, tone: ({ notes }) => (notes === 'gone' ? 'red' : undefined) },
    { title: 'seen at', of: ({ seenAt }, { time }) => time(seenAt), wide: true },
  ],
  name: ({ name }) => name,
  none: 'there are no stars',
};

interface Sight {
  readonly out: string;
  readonly err: string;
}

function seen(
  print: (invocation: Invocation) => void,
  { columns, ...flags }: { format?: Format; columns?: number; color?: boolean } = {},
): Sight {
  const { said, terminal } = seat({ isPerson: columns !== undefined, columns });
  print(invocationAt({ terminal }, flags));
  return said;
}

const listed = (stars: readonly Star[], options?: Parameters<typeof seen>[1]): Sight =>
  seen((invocation) => printList(invocation, stars, STARS), options);

const VEGA: Star = { name: 'Vega', notes: 'bright', seenAt: '2020-01-02T03:04:05.000Z' };
const WORDY: Star = { name: 'Sirius', notes: 'twice as bright as the next one, '.repeat(5), seenAt: null };

test('a table has a line of titles, and no spaces at the ends of its lines', () => {
  expect(listed([VEGA, { ...VEGA, name: '織女星' }])).toEqual({
    out: 'NAME    NOTES\nVega    bright\n織女星  bright\n',
    err: '',
  });
});

test('where stdout is no terminal, nothing is cut', () => {
  expect(listed([WORDY]).out).toContain(WORDY.notes.trimEnd());
});

test.each([20, 40, 80])('on a terminal of %i columns, a table fits', (columns) => {
  const { out } = listed([VEGA, WORDY, { ...VEGA, notes: '星'.repeat(80) }], { columns });
  const lines = out.trimEnd().split('\n');
  expect(lines).toHaveLength(4);
  for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
  expect(lines[2]).toMatch(/…$/);
});

test('wide has every column, uncut, with times as the control plane said them', () => {
  const { out } = listed([VEGA, WORDY], { format: 'wide', columns: 20 });
  expect(out).toMatch(/^NAME {4}NOTES +SEEN AT\nVega {4}bright +2020-01-02T03:04:05\.000Z\n/);
  expect(out).toContain(WORDY.notes.trimEnd());
});

test('an empty list is said on stderr to people, and is an empty array to programs', () => {
  expect(listed([])).toEqual({ out: '', err: 'there are no stars\n' });
  expect(listed([], { format: 'json' })).toEqual({ out: '[]\n', err: '' });
  expect(listed([], { format: 'name' })).toEqual({ out: '', err: '' });
});

test('colours are shown where they are wanted, and change no width', () => {
  const gone = { ...VEGA, notes: 'gone' };
  const { out } = listed([gone], { columns: 80, color: true });
  expect(out).toBe('\u001B[1mNAME\u001B[22m  \u001B[1mNOTES\u001B[22m\nVega  \u001B[31mgone\u001B[39m\n');
});

test('one thing is shown with a line for each column that holds something, the wide ones too', () => {
  const one = { ...VEGA, notes: 'first\nsecond\n' };
  const { out } = seen((invocation) => printOne(invocation, one, STARS));
  expect(out).toBe('name     Vega\nnotes    first\n         second\nseen at  2020-01-02T03:04:05.000Z\n');
  expect(seen((invocation) => printOne(invocation, { ...one, notes: '' }, STARS)).out).not.toContain('notes');
});

test('a change is said on stderr, and on stdout only what a format asks for', () => {
  const done = (format: Format): Sight =>
    seen((invocation) => printDone(invocation, { said: 'hung up', answer: VEGA, name: 'Vega' }), { format });
  expect(done('table')).toEqual({ out: '', err: 'hung up\n' });
  expect(done('name')).toEqual({ out: 'Vega\n', err: 'hung up\n' });
  expect(JSON.parse(done('json').out)).toEqual(VEGA);
});

const HOSTILE = 'a\u001B[2Jb\u009B1mc\r\nd\u202Ee\u2028f\u{E0041}g\u200Bh';

test('text of others neither moves a cursor nor hides', () => {
  expect(plainLine(HOSTILE)).toBe('a [2Jb 1mc de fgh');
  const { out } = listed([{ name: HOSTILE, notes: HOSTILE, seenAt: HOSTILE }], { format: 'wide' });
  expect(out.split('\n')).toHaveLength(3);
  expect(out).not.toMatch(/[^\P{Cc}\n]/u);
});

test('JSON is harmless on a terminal and says the same', () => {
  const text = jsonText({ [HOSTILE]: HOSTILE });
  expect(JSON.parse(text)).toEqual({ [HOSTILE]: HOSTILE });
  expect(text).not.toMatch(/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u);
});

test('a name is exact for the next command, and plain on a terminal', () => {
  const twin = { ...VEGA, name: 'Ve\u200Ega' };
  expect(listed([twin], { format: 'name' }).out).toBe('Ve\u200Ega\n');
  expect(listed([twin], { format: 'name', columns: 80 }).out).toBe('Vega\n');
  expect(exactLine('a\nb')).toBe('a b');
});

/** Each column: what its widest cell needs, and with less than what it says nothing any more. */
const needsOf = (text: string) =>
  text.split(' ').flatMap((need) => {
    const [natural = 0, least = 0] = need.split('/').map(Number);
    return need === '' ? [] : [{ natural, least }];
  });

test.each([
  ['needs less than there is', '4/4 9/8', 40, [4, 9]],
  ['the one long column gives way', '4/4 90/8', 40, [4, 34]],
  ['two long ones share evenly, the odd one goes to the first', '90/8 4/4 60/8', 41, [17, 4, 16]],
  ['nobody falls below its least', '90/8 26/26 90/8', 46, [8, 26, 8]],
  ['the last is left out where it would', '90/8 26/26 90/8', 45, [17, 26]],
  ['the first stays whatever happens', '90/8 26/26', 5, [5]],
  ['nothing', '', 5, []],
])('widths: %s', (_, needs, width, widths) => {
  expect(fit(needsOf(needs), width, 2)).toEqual(widths);
});

test('a cut halves nothing that shows as one', () => {
  expect(cut('plain text', 10)).toBe('plain text');
  expect(cut('plain text', 7)).toBe('plain…');
  expect(cut('織女星', 4)).toBe('織…');
  expect(cut('👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 3)).toBe('👩‍👩‍👧‍👦…');
});

const NOW = Date.parse('2026-03-01T12:00:00Z');

test.each([
  ['2026-03-01T12:00:00.000Z', 'now'],
  ['2026-03-01T11:59:30Z', '30 s ago'],
  ['2026-03-01T12:00:59.999Z', 'in 59 s'],
  ['2026-03-01T11:58:59Z', '1 min ago'],
  ['2026-03-01T10:00:01Z', '119 min ago'],
  ['2026-03-01T09:30:00Z', '2 h ago'],
  ['2026-03-03T11:59:59Z', 'in 47 h'],
  ['2026-02-01T12:00:00Z', '28 d ago'],
  ['2026-03-31T12:00:00Z', 'in 30 d'],
  ['2026-03-01T12:59:59Z', 'in 59 min'],
  ['2025-03-31T12:00:00Z', '2025-03-31'],
  ['soon', 'soon'],
  ['', ''],
])('%s is %s', (time, said) => {
  expect(distance(time, NOW)).toBe(said);
});

test('a time by itself keeps its digits', () => {
  expect(timeAndDistance('2026-02-01T12:00:00Z', NOW)).toBe('2026-02-01T12:00:00Z (28 d ago)');
  expect(timeAndDistance('2025-02-01T12:00:00Z', NOW)).toBe('2025-02-01T12:00:00Z');
});

describe('a value', () => {
  const printed = (value: string, columns?: number): Sight =>
    seen((invocation) => printValue(invocation, value), columns === undefined ? {} : { columns });

  test.each(['s3cret', 'two\nlines\n', '\u001b[31mred\u0000', '\u202ereversed', ''])(
    'is printed as it is into a pipe: %j',
    (value) => expect(printed(value)).toEqual({ out: value, err: '' }),
  );

  test.each([
    ['s3cret', 's3cret\n'],
    ['a\tb\r\nc\n', 'a\tb\nc\n'],
    ['emoji 👩‍🔧', 'emoji 👩‍🔧\n'],
  ])('ends with one line break on a terminal: %j', (value, out) =>
    expect(printed(value, 80)).toEqual({ out, err: '' }),
  );

  test.each([
    ['\u001b]0;title\u0007', '\\u{1b}]0;title\\u{7}\n'],
    ['a\u0008b', 'a\\u{8}b\n'],
    ['\u009b2J', '\\u{9b}2J\n'],
    ['\u202etxt', '\\u{202e}txt\n'],
    ['a\rb', 'a\\u{d}b\n'],
  ])('moves no cursor on a terminal, and that is said: %j', (value, out) => {
    const err = expect.stringMatching(/a terminal does not show/) as string;
    expect(printed(value, 80)).toEqual({ out, err });
  });
});

test.each([
  ['a terminal', true, { TERM: 'xterm-256color' }, true],
  ['a terminal that says nothing of itself', true, {}, true],
  ['no terminal', false, { TERM: 'xterm' }, false],
  ['a terminal without any', true, { TERM: 'dumb' }, false],
  ['NO_COLOR', true, { NO_COLOR: '0' }, false],
  ['an empty NO_COLOR', true, { NO_COLOR: '' }, true],
])('colours at %s', (_, isPerson, env, wanted) => {
  expect(wantsColor({ ...seat({ isPerson }), env })).toBe(wanted);
});
