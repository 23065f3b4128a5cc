import { styleText } from 'node:util';
import type { Invocation } from '../invocation.ts';
import { jsonText } from './json-text.ts';
import { exactLine, plainLine, plainLines } from './plain-line.ts';
import { say } from './say.ts';
import { renderTable } from './table.ts';

/** The colour of a cell. */
export type Tone = 'red' | 'yellow' | 'green' | 'dim';

/** What a cell is made for. */
export interface View {
  /** A time as it fits here: how far away in a table, in full where there is room. Null and undefined give ''. */
  time(iso: string | null | undefined): string;
}

/** A column of a table, and a line where one thing is shown. */
export interface Column<T> {
  readonly title: string;
  readonly of: (item: T, view: View) => string;
  /** In tables with `--format wide` only. */
  readonly wide?: true;
  /** Never cut: the whole column is left out where there is no room. */
  readonly whole?: true;
  readonly tone?: (item: T) => Tone | undefined;
}

/** How things of one kind are printed. */
export interface Shape<T> {
  /** In the order of their importance; the first should tell items apart. */
  readonly columns: readonly Column<T>[];
  /** What `--format name` prints: what other commands take. */
  readonly name: (item: T) => string;
  readonly none?: string;
}

/**
 * Prints a list to stdout: a table that fits the terminal, all columns uncut with `--format wide`, or with `--format json` an
 * array of what the control plane said, whole. An empty list is said on stderr.
 */
export function printList<T>(invocation: Invocation, items: readonly T[], shape: Shape<T>): void {
  const { flags, terminal, color } = invocation;
  const { out } = terminal;
  switch (flags.format) {
    case 'json':
      return out(jsonText(items));
    case 'name':
      return out(items.map((item) => nameLine(invocation, shape.name(item))).join(''));
    case 'table':
    case 'wide': {
      if (items.length === 0) return say(invocation, shape.none ?? 'there are none');
      const wide = flags.format === 'wide';
      const columns = shape.columns.filter((column) => wide || column.wide === undefined);
      const nowMs = Date.now();
      const view: View = { time: (iso) => (wide ? (iso ?? '') : distance(iso ?? '', nowMs)) };
      const rows = items.map((item) =>
        columns.map(({ of, tone }) => ({ text: plainLine(of(item, view)), tone: tone?.(item) })),
      );
      return out(renderTable({ columns, rows }, { width: wide ? undefined : terminal.columns, color }));
    }
  }
}

/** Prints one thing: a line for each of all its columns that hold something, or with `--format json` the object. */
export function printOne<T>(invocation: Invocation, item: T, shape: Shape<T>): void {
  const { flags, terminal, color } = invocation;
  if (flags.format === 'json') return terminal.out(jsonText(item));
  if (flags.format === 'name') return terminal.out(nameLine(invocation, shape.name(item)));
  const nowMs = Date.now();
  const view: View = { time: (iso) => timeAndDistance(iso ?? '', nowMs) };
  const shown = shape.columns
    .map(({ title, of, tone }) => ({ title, text: of(item, view).trimEnd(), tone: tone?.(item) }))
    .filter(({ text }) => text !== '');
  const width = Math.max(...shown.map(({ title }) => title.length));
  const line = ({ title, text, tone }: (typeof shown)[number]): string => {
    const [first = '', ...others] = plainLines(text).map((each) => toned(each, color ? tone : undefined));
    const head = color ? styleText('bold', title, { validateStream: false }) : title;
    const indent = ' '.repeat(width + 2);
    return [
      `${head}${' '.repeat(width + 2 - title.length)}${first}\n`,
      ...others.map((each) => `${`${indent}${each}`.trimEnd()}\n`),
    ].join('');
  };
  terminal.out(shown.map(line).join(''));
}

interface Done {
  readonly said: string;
  readonly answer?: unknown;
  readonly name: string;
}

/** What a command that only changes something prints: one line on stderr, and on stdout only what a format asks for. */
export function printDone(invocation: Invocation, { said, answer, name }: Done): void {
  const { flags, terminal } = invocation;
  say(invocation, said);
  if (flags.format === 'name') terminal.out(nameLine(invocation, name));
  if (flags.format === 'json' && answer !== undefined) terminal.out(jsonText(answer));
}

/**
 * Prints what is shown once, such as a key: alone on stdout, so that a pipe can take it. A format of names leaves it out.
 * @param said what happened; what comes next on stdout is `secret.called`
 */
export function printSecret(
  invocation: Invocation,
  {
    said,
    answer,
    name,
    secret,
  }: Done & { readonly secret: { readonly called: string; readonly note?: string; readonly text: string } },
): void {
  const { flags, terminal } = invocation;
  if (flags.format === 'json') return printDone(invocation, { said, answer, name });
  if (flags.format === 'name')
    return printDone(invocation, { said: `${said}; this format leaves its ${secret.called} out`, name });
  const note = secret.note === undefined ? '' : `, ${secret.note}`;
  say(invocation, `${said}; its ${secret.called}${note}:`);
  terminal.out(`${exactLine(secret.text)}\n`);
}

/**
 * As `printDone` of several changes, each of which was said already: an array of what the control plane answered, or the names.
 */
export function printAnswers(
  invocation: Invocation,
  answers: readonly { readonly serviceName: string }[],
): void {
  const { flags, terminal } = invocation;
  if (flags.dryRun === true) return;
  if (flags.format === 'name')
    for (const { serviceName } of answers) terminal.out(nameLine(invocation, serviceName));
  if (flags.format === 'json') terminal.out(jsonText(answers));
}

const toned = (text: string, tone: Tone | undefined): string =>
  tone === undefined ? text : styleText(tone, text, { validateStream: false });

/** A command behind a pipe gets the name as it is: without its invisible characters it could be the name of another thing. */
const nameLine = ({ terminal }: Invocation, name: string): string =>
  `${terminal.interactive.out ? plainLine(name) : exactLine(name)}\n`;

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
] as const;
/** Beyond it a date says more than a number of days. */
const MAX_MS = 60 * 86_400_000;

/**
 * A time as people read it in a table: `30 s ago`, `5 min ago`, `in 29 d`; a date for one that is far away.
 * @param time ISO 8601; a text that is none comes back as it is
 */
export function distance(time: string, nowMs: number): string {
  const atMs = Date.parse(time);
  if (Number.isNaN(atMs)) return time;
  const apartMs = Math.abs(atMs - nowMs);
  if (apartMs > MAX_MS) return new Date(atMs).toISOString().slice(0, 10);
  if (apartMs < SECOND_MS) return 'now';
  // One day and 23 hours are no day: a larger unit begins with two of it.
  const smallest = apartMs < MINUTE_MS ? (['s', SECOND_MS] as const) : (['min', MINUTE_MS] as const);
  const [name, ms] = UNITS.find(([, unitMs]) => apartMs >= 2 * unitMs) ?? smallest;
  const count = `${Math.floor(apartMs / ms)} ${name}`;
  return atMs > nowMs ? `in ${count}` : `${count} ago`;
}

/** A time by itself: as the control plane said it, and how far away that is. */
export function timeAndDistance(time: string, nowMs: number): string {
  const far = distance(time, nowMs);
  return time.startsWith(far) ? time : `${time} (${far})`;
}
