import { afterAll, beforeAll, beforeEach, test } from 'vitest';
import type { Row } from './row.ts';
import { type Play, type Stage, raiseCurtain } from './stage.ts';
import { STATE_PLAYS } from './state-plays.ts';
import { STATE_ROWS } from './state-rows.ts';

// The specification's "States and transitions", each row by its own words.

let stage: Stage;
beforeAll(async () => {
  stage = await raiseCurtain();
});
afterAll(() => stage.close());
beforeEach(() => stage.clear());

const plays: Readonly<Record<string, Play<Row>>> = STATE_PLAYS;
test.each(Object.keys(plays) as (keyof typeof STATE_ROWS)[])('%s', async (key) => {
  await plays[key]?.(stage, STATE_ROWS[key]);
});
