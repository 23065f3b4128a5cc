import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createLimits } from '../../src/limits/limits.ts';
import {
  type CountedScope,
  MAX_AGENTS_COUNTED,
  MAX_PROXIES_COUNTED,
  aggregateLimit,
} from '../../src/limits/scopes.ts';

const limits = createLimits({});
const WINDOWS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

test('the limits are those of the specification', () => {
  const text = readFileSync(new URL('../specification/specification.md', import.meta.url), 'utf8');
  const rows = [...text.matchAll(/^\| ([\w ()]+) \| (\d+) per (minute|hour|day) per /gm)];
  expect(rows).toHaveLength(17);
  for (const [, name = '', limit, window] of rows) {
    const scope = name.toLowerCase().match(/\w+/g)?.join('_') as CountedScope;
    const windowMs = WINDOWS[window as keyof typeof WINDOWS];
    expect([scope, limits.of(scope)]).toEqual([scope, { limit: Number(limit), windowMs }]);
  }
});

// spec: user_aggregate | clamp(ceil(1.5 x (60 x active_agents + 300 x proxies)), 600, 3000) per minute, across all agents and proxies of the account.
test.each([
  [0, 0, 600],
  [6, 0, 600],
  [7, 0, 630],
  [33, 0, 2_970],
  [34, 0, 3_000],
  [1, 1, 600],
  [0, 2, 900],
  [1, 2, 990],
  [0, 7, 3_000],
  [10_000, 1_000, 3_000],
])('the aggregate limit of %i agents and %i proxies is %i a minute', (activeAgents, proxies, limit) => {
  expect(limits.aggregate({ activeAgents, proxies })).toBe(limit);
});

test('counting more agents or proxies than the store does raises no aggregate limit', () => {
  expect(aggregateLimit({ activeAgents: MAX_AGENTS_COUNTED, proxies: 0 })).toBe(3_000);
  expect(aggregateLimit({ activeAgents: 0, proxies: MAX_PROXIES_COUNTED })).toBe(3_000);
});
