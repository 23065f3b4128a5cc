import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import { ERAS } from '../mcp-steps.ts';
import { ERROR_ROWS } from './error-rows.ts';
import { MCP_ERROR_PLAYS } from './mcp-error-plays.ts';
import { type McpPlay, sceneOn } from './mcp-scene.ts';
import type { Row } from './row.ts';
import { type Stage, raiseCurtain } from './stage.ts';

// The specification's "Errors" at the MCP endpoint, in both eras of the protocol.

let stage: Stage;
beforeAll(async () => {
  stage = await raiseCurtain();
});
afterAll(() => stage.close());
beforeEach(() => stage.clear());

const plays: Readonly<Record<string, McpPlay<Row>>> = MCP_ERROR_PLAYS;
describe.each(ERAS)('%s', (era) => {
  test.each(Object.keys(plays) as (keyof typeof ERROR_ROWS)[])('%s', async (key) => {
    await plays[key]?.(sceneOn(stage, era), ERROR_ROWS[key]);
  });
});
