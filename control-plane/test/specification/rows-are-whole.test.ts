import { expect, test } from 'vitest';
import { ACCOUNT_PLAYS } from './account-plays.ts';
import { ADDRESS_PLAYS } from './address-plays.ts';
import { ERROR_PLAYS } from './error-plays.ts';
import { ERROR_ROWS } from './error-rows.ts';
import { FLOOR_PLAYS } from './floor-plays.ts';
import { LATER_COMMANDS, LATER_ERRORS } from './later-errors.ts';
import { LATER_LIMITS } from './later-limits.ts';
import { LATER_STATES } from './later-states.ts';
import { LIMIT_ROWS } from './limit-rows.ts';
import { OTHER_PLAYS } from './other-plays.ts';
import type { Row } from './row.ts';
import { STATE_PLAYS } from './state-plays.ts';
import { STATE_ROWS } from './state-rows.ts';

/** How many rows, halves counted, stand under each heading of the specification. */
const SIZES = {
  Limits: 2,
  'Per-entity floors': 11,
  'Pipeline order for credential access': 6,
  'Handshake exemption': 4,
  'Account-wide': 6,
  'Per IP': 8,
  'Penalty box': 2,
  'Other limits': 4,
  'REST credential endpoint': 15,
  'MCP endpoint': 1,
  'MCP endpoint, tool errors (HTTP 200, isError: true)': 7,
  'Proxy endpoint': 3,
  'CLI exit codes': 2,
  'States and transitions': 13,
};

const sections = [
  ['Limits', LIMIT_ROWS, [FLOOR_PLAYS, ACCOUNT_PLAYS, ADDRESS_PLAYS, OTHER_PLAYS, LATER_LIMITS]],
  ['Errors', ERROR_ROWS, [ERROR_PLAYS, LATER_ERRORS, LATER_COMMANDS]],
  ['States and transitions', STATE_ROWS, [STATE_PLAYS, LATER_STATES]],
] as const;

test.each(sections)(
  'every row of “%s” is played once: at its endpoint, or as a later row',
  (_section, rows, plays) => {
    const played = plays.flatMap((some) => Object.keys(some));
    expect(played.toSorted()).toEqual(Object.keys(rows).toSorted());
  },
);

test('no row went out of the table', () => {
  const all: readonly Row[] = sections.flatMap(([, rows]) => Object.values(rows));
  const sizes = Object.entries(Object.groupBy(all, ({ under }) => under));
  expect(Object.fromEntries(sizes.map(([under, rows]) => [under, rows?.length]))).toEqual(SIZES);
});
