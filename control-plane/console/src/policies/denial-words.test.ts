import { expect, test } from 'vitest';
import { denialWords } from './denial-words.ts';
import type { Rule } from './rule-words.ts';

const WINDOW = { days: [1, 2, 3, 4, 5], start: '09:00', end: '17:00' };
const FACTS = { at: '2026-11-24T01:34:00.000Z', ip: '8.8.8.8', country: 'US', used: 3 };
const UNKNOWN = { ...FACTS, ip: null, country: null };

const CASES: readonly (readonly [Rule, typeof FACTS | typeof UNKNOWN, string])[] = [
  [
    { type: 'ip_allowlist', cidrs: ['203.0.113.0/24'] },
    FACTS,
    'lets through 203.0.113.0/24 only; the request came from 8.8.8.8.',
  ],
  [
    { type: 'ip_allowlist', cidrs: ['10.0.0.0/8'] },
    UNKNOWN,
    'lets through 10.0.0.0/8 only; the request came from an unknown address.',
  ],
  [
    { type: 'time_window', timezone: 'Europe/Berlin', windows: [WINDOW] },
    FACTS,
    'lets through Mon-Fri 09:00-17:00 Europe/Berlin only; there it was Tue 02:34.',
  ],
  [
    { type: 'geo_restrict', mode: 'allow', countries: ['NL'] },
    FACTS,
    'lets through Netherlands only; the request came from 8.8.8.8 (United States).',
  ],
  [
    { type: 'geo_restrict', mode: 'deny', countries: ['US', 'CA'] },
    UNKNOWN,
    'denies United States, Canada; the request came from an unknown address (country not known).',
  ],
  [
    { type: 'rate_limit', limit: 5, windowSeconds: 60 },
    FACTS,
    'lets through at most 5 requests a minute, and that many had been made.',
  ],
  [
    { type: 'request_filter', requests: [{ methods: ['GET'], paths: ['/repos/**'] }] },
    FACTS,
    'lets through only these requests of proxies: GET /repos/**.',
  ],
  [{ type: 'max_usage', limit: 3 }, FACTS, 'lets through at most 3 uses in all; 3 of 3 are used up.'],
  [
    { type: 'manual_approval' },
    FACTS,
    'lets through only what a person approves, once within 1 hour; nobody had approved this one.',
  ],
  [
    { type: 'manual_approval', uses: 20, expiresInSeconds: 300 },
    FACTS,
    'lets through only what a person approves, 20 times within 5 minutes; nobody had approved this one.',
  ],
];

test.each(CASES)(
  'a denial by %j about %j is said with its settings and the request',
  (rule, facts, words) => {
    expect(denialWords(rule, facts)).toBe(words);
  },
);
