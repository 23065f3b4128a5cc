import { formatRequestRule } from '@svault/shared/request-rules';
import type { Schemas } from '../api/client.ts';

/** A rule as the API has it: its type with the settings. */
export type Rule = Schemas['PolicyRule'];
export type RuleType = Rule['type'];
export type RuleOf<T extends RuleType> = Extract<Rule, { readonly type: T }>;
export type TimeWindow = RuleOf<'time_window'>['windows'][number];

/** Each type of rule, in the order in which forms offer them. */
export const RULE_NAMES = {
  time_window: 'Time window',
  ip_allowlist: 'Networks',
  geo_restrict: 'Countries',
  rate_limit: 'Rate limit',
  max_usage: 'Number of uses',
  request_filter: 'Requests',
  manual_approval: 'Approval',
} as const satisfies Readonly<Record<RuleType, string>>;

/** What a rule lets through, as a sentence without its beginning in upper case and its end. */
export function ruleWords(rule: Rule): string {
  switch (rule.type) {
    case 'time_window':
      return `${rule.windows.map(windowWords).join(', ')} ${rule.timezone}`;
    case 'ip_allowlist':
      return `only from ${someOf(rule.cidrs, 'networks')}`;
    case 'geo_restrict':
      return `${rule.mode === 'allow' ? 'only from' : 'not from'} ${someOf(rule.countries.map(countryName), 'countries')}`;
    case 'rate_limit':
      return `at most ${countWords(rule.limit, 'request')} ${spanWords(rule.windowSeconds)}`;
    case 'max_usage':
      return `at most ${countWords(rule.limit, 'use')} in all`;
    case 'request_filter':
      return `only these requests of proxies: ${someOf(rule.requests.map(formatRequestRule), 'rules')}`;
    case 'manual_approval':
      return `only what a person approves, ${timesWords(rule.uses ?? APPROVED.uses)} within ${validWords(rule)}`;
  }
}

/** What the API takes where the settings of an approval are left out. */
export const APPROVED = { uses: 1, seconds: 3_600 } as const;

const timesWords = (uses: number): string => (uses === 1 ? 'once' : `${uses.toLocaleString('en')} times`);

/** How long a request may be repeated that was approved. */
function validWords({ expiresInSeconds = APPROVED.seconds }: RuleOf<'manual_approval'>): string {
  const { count, name } = inUnits(expiresInSeconds);
  return countWords(count, name);
}

/** All rules of a policy in one sentence. */
export const policyWords = (rules: readonly Rule[]): string => rules.map(ruleWords).join('; ');

const SHOWN_ITEMS = 3;

/** The first of several things, and how many more there are. */
export function someOf(items: readonly string[], noun: string): string {
  if (items.length <= SHOWN_ITEMS + 1) return items.join(', ');
  return `${items.slice(0, SHOWN_ITEMS).join(', ')} and ${items.length - SHOWN_ITEMS} more ${noun}`;
}

const countWords = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? noun : `${noun}s`}`;

/** Units of time of which a span can be a multiple, the longest first. */
export const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A span as a number of the longest unit that fits. */
export function inUnits(seconds: number): {
  readonly count: number;
  readonly unit: number;
  readonly name: string;
} {
  const [name, unit] = UNITS.find(([, length]) => seconds % length === 0) ?? ['second', 1];
  return { count: seconds / unit, unit, name };
}

function spanWords(seconds: number): string {
  const { count, name } = inUnits(seconds);
  if (count !== 1) return `in ${countWords(count, name)}`;
  return name === 'hour' ? 'an hour' : `a ${name}`;
}

/** Monday first, as in ISO 8601. */
export const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;

/** `Mon-Fri 09:00-17:00` */
export function windowWords({ days, start, end }: TimeWindow): string {
  const next = end < start && end !== '00:00' ? ' (next day)' : '';
  return `${daysWords(days)} ${start}-${end === '00:00' ? '24:00' : end}${next}`;
}

function daysWords(days: readonly number[]): string {
  if (days.length === DAYS.length) return 'every day';
  const runs: [from: number, to: number][] = [];
  for (const day of days.toSorted((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last?.[1] === day - 1) last[1] = day;
    else runs.push([day, day]);
  }
  const name = (day: number): string => DAYS[day - 1] ?? '';
  return runs.map(([from, to]) => (from === to ? name(from) : `${name(from)}-${name(to)}`)).join(', ');
}

const countries = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' });

/** @param code ISO 3166-1 alpha-2; a text that is none stays as it is */
export const countryName = (code: string): string =>
  /^[A-Z]{2}$/.test(code) ? (countries.of(code) ?? code) : code;
