import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import { ERAS } from '../mcp-steps.ts';
import { LIMIT_ROWS } from './limit-rows.ts';
import { MCP_LIMIT_PLAYS } from './mcp-limit-plays.ts';
import { type McpPlay, sceneOn } from './mcp-scene.ts';
import type { Row } from './row.ts';
import { type Stage, raiseCurtain } from './stage.ts';

// The specification's "Limits" at the MCP endpoint, each at its real number, in both eras of the protocol.

let stage: Stage;
beforeAll(async () => {
  stage = await raiseCurtain();
});
afterAll(() => stage.close());
beforeEach(() => stage.clear());

const plays: Readonly<Record<string, McpPlay<Row>>> = MCP_LIMIT_PLAYS;
describe.each(ERAS)('%s', (era) => {
  test.each(Object.keys(plays) as (keyof typeof LIMIT_ROWS)[])('%s', async (key) => {
    await plays[key]?.(sceneOn(stage, era), LIMIT_ROWS[key]);
  });
});
