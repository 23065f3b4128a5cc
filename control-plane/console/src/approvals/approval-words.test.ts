import { describe, expect, test } from 'vitest';
import { byEnd, callerName, operationOf, shortened, timeLeft } from './approval-words.ts';
import type { Approval } from './queries.ts';

const APPROVAL: Approval = {
  ...{ id: 'apr_1', kind: 'policy', status: 'pending', agentId: 'agt_1', serviceName: 'github' },
  ...{ askedAt: '2026-11-28T12:00:00.000Z', expiresAt: '2026-11-28T12:15:00.000Z', uses: 1, used: 0 },
};
const request = { method: 'POST', url: 'https://api.example/orders', digest: 'AAAA' };

describe('what is asked for', () => {
  test.each([
    [{}, 'The credential itself, once for each use', undefined],
    [{ kind: 'access' as const }, 'A grant, which lets it have the credential', undefined],
    [{ request }, 'One request with the credential', 'POST https://api.example/orders'],
    [
      { request: { ...request, tool: 'pay\u202E' } },
      'A call of the tool pay\\u{202e}',
      'POST https://api.example/orders',
    ],
    [
      { request: { ...request, url: 'https://api.example/\na' } },
      'One request with the credential',
      'POST https://api.example/\\na',
    ],
  ])('of %j is “%s”', (members, words, line) => {
    expect(operationOf({ ...APPROVAL, ...members })).toEqual({ words, request: line });
  });
});

test('a name of hostile characters is one line of bounded length, in which each of them is seen', () => {
  const name = `ci\u200B\n${'\u202E'.repeat(500)}`;
  const shown = shortened(callerName({ ...APPROVAL, callerName: name }));
  expect(shown).toMatch(/^ci\\u\{200b\}\\n\\u\{202e\}/);
  expect([...shown]).toHaveLength(60);
  expect(shortened('😀'.repeat(61))).toBe(`${'😀'.repeat(59)}…`);
});

test('a caller that is gone is called by its id', () => {
  expect(callerName(APPROVAL)).toBe('agt_1');
});

test.each([
  [15 * 60_000, '15 min 00 s'],
  [60_000, '1 min 00 s'],
  [59_001, '1 min 00 s'],
  [59_000, '59 s'],
  [1, '1 s'],
  [0, undefined],
  [-5, undefined],
  [86_400_000, '24 h 00 min'],
])('%i ms before its end there are %s left', (ms, left) => {
  expect(timeLeft(APPROVAL.expiresAt, Date.parse(APPROVAL.expiresAt) - ms)).toBe(left);
});

test('what ends first is on top', () => {
  const sooner = { ...APPROVAL, id: 'apr_2', expiresAt: '2026-11-28T12:01:00.000Z' };
  expect(byEnd([APPROVAL, sooner]).map(({ id }) => id)).toEqual(['apr_2', 'apr_1']);
});
