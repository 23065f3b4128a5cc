import { expect, it } from 'vitest';
import { rulesSchema } from './rules.ts';

/** The paths of the issues. */
const pathsOf = (rules: readonly object[]): string[] =>
  rulesSchema.safeParse(rules).error?.issues.map(({ path }) => path.join('.')) ?? [];

const APPROVAL = { type: 'manual_approval' };
const WINDOW = { days: [1], start: '08:00', end: '18:00' };
const time = (change: object) => ({
  type: 'time_window',
  timezone: 'UTC',
  windows: [{ ...WINDOW, ...change }],
});
const windows = (count: number) => ({
  type: 'time_window',
  timezone: 'UTC',
  windows: Array.from({ length: count }, () => WINDOW),
});
const network = (...cidrs: string[]) => ({ type: 'ip_allowlist', cidrs });
const countries = (...codes: string[]) => ({ type: 'geo_restrict', mode: 'allow', countries: codes });
const filter = (...requests: object[]) => ({ type: 'request_filter', requests });
const reads = { methods: ['GET'], paths: ['/**'] };
const hundred = network(...Array.from({ length: 100 }, (_, n) => `10.0.${n}.0/24`));

it.each([
  ['0.timezone', { ...windows(1), timezone: '+01:00' }],
  ['0.windows.0.end', time({ end: '08:00' })],
  ['0.windows.0.end', time({ end: '24:00' })],
  ['0.windows.0.start', time({ start: '8:00' })],
  ['0.windows.0.days.0', time({ days: [0] })],
  ['0.windows.0.days.0', time({ days: [8] })],
  ['0.windows.0.days.0', time({ days: [1.5] })],
  ['0.windows.0.days', time({ days: [1, 2, 1] })],
  ['0.windows.0.days', time({ days: [] })],
  ['0.windows', windows(0)],
  ['0.windows', windows(51)],
  ['0.windows.0', time({ until: '19:00' })],
  ['0.cidrs.1', network('10.0.0.0/8', '10.1.2.3/8')],
  ['0.cidrs', { ...hundred, cidrs: [...hundred.cidrs, '10.1.0.0/24'] }],
  ['0.cidrs', network()],
  ['0.countries.1', countries('DE', 'XX')],
  ['0.countries', countries()],
  ['0.mode', { ...countries('DE'), mode: 'block' }],
  ['0.limit', { type: 'rate_limit', limit: 0, windowSeconds: 60 }],
  ['0.windowSeconds', { type: 'rate_limit', limit: 1, windowSeconds: 0 }],
  ['0.windowSeconds', { type: 'rate_limit', limit: 1, windowSeconds: 30 * 86_400 + 1 }],
  ['0.windowSeconds', { type: 'rate_limit', limit: 1 }],
  ['0.limit', { type: 'max_usage', limit: 0 }],
  ['0.limit', { type: 'max_usage', limit: '5' }],
  ['0.limit', { type: 'max_usage', limit: 1e12 }],
  ['0', { ...APPROVAL, approvers: [] }],
  ['0.requests', filter()],
  ['0.requests', filter(...Array.from({ length: 51 }, () => reads))],
  ['0.requests.0', filter({ methods: ['GET'] })],
  ['0.requests.1.paths.0', filter(reads, { ...reads, paths: ['repos'] })],
  ['0', { ...filter(reads), service: 'github' }],
  ['0.type', { type: 'device_posture' }],
  ['0.type', {}],
  ['0.type', { type: 'constructor' }],
  ['0', { id: 'rul_AAAAAAAAAAAAAAAAAAAAAA', ...APPROVAL }],
])('a rule is rejected at %s: %j', (path, rule) => {
  expect(pathsOf([rule])).toEqual([path]);
});

it.each([
  ['no rule', []],
  ['21 rules', Array.from({ length: 21 }, () => APPROVAL)],
  ['rules that are too long together', Array.from({ length: 20 }, () => windows(50))],
  [
    'filters that are too long together',
    Array.from({ length: 2 }, () =>
      filter({ ...reads, paths: Array.from({ length: 10 }, () => `/${'a'.repeat(1_000)}`) }),
    ),
  ],
  ['201 networks, of which no rule has more than 100', [hundred, hundred, network('192.0.2.1')]],
])('a policy with %s is rejected', (_what, rules) => {
  expect(pathsOf(rules)).toEqual(['']);
});

it('a policy may have 20 rules, and 200 networks', () => {
  expect(pathsOf(Array.from({ length: 20 }, () => APPROVAL))).toEqual([]);
  expect(pathsOf([hundred, hundred])).toEqual([]);
});
