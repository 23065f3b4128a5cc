import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import { ACCOUNT_PLAYS } from './account-plays.ts';
import { ADDRESS_PLAYS, BEHIND_A_PROXY } from './address-plays.ts';
import { FLOOR_PLAYS } from './floor-plays.ts';
import { LIMIT_ROWS } from './limit-rows.ts';
import { OTHER_PLAYS } from './other-plays.ts';
import { type Play, type Stage, raiseCurtain } from './stage.ts';
import type { Row } from './row.ts';

// The specification's "Limits", each row by its own words and at its real number, at the endpoint it speaks of.

let stage: Stage;
beforeAll(async () => {
  stage = await raiseCurtain({ env: BEHIND_A_PROXY });
});
afterAll(() => stage.close());
beforeEach(() => stage.clear());

describe.each([
  ['floors, pipeline and penalty box', FLOOR_PLAYS],
  ['account-wide', ACCOUNT_PLAYS],
  ['per IP', ADDRESS_PLAYS],
  ['other limits', OTHER_PLAYS],
] as const)('%s', (_heading, plays: Readonly<Record<string, Play<Row>>>) => {
  test.each(Object.keys(plays) as (keyof typeof LIMIT_ROWS)[])('%s', async (key) => {
    await plays[key]?.(stage, LIMIT_ROWS[key]);
  });
});
