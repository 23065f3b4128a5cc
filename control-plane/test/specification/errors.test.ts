import { afterAll, beforeAll, beforeEach, test } from 'vitest';
import { ERROR_PLAYS } from './error-plays.ts';
import { ERROR_ROWS } from './error-rows.ts';
import type { Row } from './row.ts';
import { type Play, type Stage, raiseCurtain } from './stage.ts';

// The specification's "Errors", each row by its own words, with the exact members of every body.

let stage: Stage;
beforeAll(async () => {
  stage = await raiseCurtain();
});
afterAll(() => stage.close());
beforeEach(() => stage.clear());

const plays: Readonly<Record<string, Play<Row>>> = ERROR_PLAYS;
test.each(Object.keys(plays) as (keyof typeof ERROR_ROWS)[])('%s', async (key) => {
  await plays[key]?.(stage, ERROR_ROWS[key]);
});
