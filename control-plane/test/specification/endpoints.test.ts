import { afterAll, beforeAll, beforeEach, test } from 'vitest';
import { ENDPOINT_PLAYS } from './endpoint-plays.ts';
import { ENDPOINT_ROWS } from './endpoint-rows.ts';
import type { Row } from './row.ts';
import { type Play, type Stage, raiseCurtain } from './stage.ts';

// The specification's "Other service endpoints", each row by its own words.

let stage: Stage;
beforeAll(async () => {
  stage = await raiseCurtain();
});
afterAll(() => stage.close());
beforeEach(() => stage.clear());

const plays: Readonly<Record<string, Play<Row>>> = ENDPOINT_PLAYS;
test.each(Object.keys(plays) as (keyof typeof ENDPOINT_ROWS)[])('%s', async (key) => {
  await plays[key]?.(stage, ENDPOINT_ROWS[key]);
});
