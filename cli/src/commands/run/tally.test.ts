import { expect, test } from 'vitest';
import { createTally } from './tally.ts';

test('hosts are counted by what became of their requests, and nothing is said where there were none', () => {
  const tally = createTally();
  expect(tally.lines()).toEqual([]);
  tally.straight('pypi.org');
  for (let n = 0; n < 2; n += 1) tally.called('api.example.com', 'github');
  tally.refused('api.example.com', 'POLICY_DENIED');
  expect(tally.lines()).toEqual([
    '2 requests to api.example.com with the credential github',
    '1 connection straight to pypi.org',
    '1 request to api.example.com refused: POLICY_DENIED',
  ]);
});

test('a command that calls thousands of hosts has a summary of a hundred lines', () => {
  const tally = createTally();
  for (let n = 0; n < 5_000; n += 1) tally.straight(`host-${n}.example`);
  const lines = tally.lines();
  expect([lines.length, lines.at(-1)]).toEqual([101, '4900 connections to other hosts']);
});
