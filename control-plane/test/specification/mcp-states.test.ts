import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import { ERAS } from '../mcp-steps.ts';
import { type McpPlay, sceneOn } from './mcp-scene.ts';
import { MCP_STATE_PLAYS } from './mcp-state-plays.ts';
import type { Row } from './row.ts';
import { type Stage, raiseCurtain } from './stage.ts';
import { STATE_ROWS } from './state-rows.ts';

// The specification's "States and transitions" at the MCP endpoint, in both eras of the protocol.

let stage: Stage;
beforeAll(async () => {
  stage = await raiseCurtain();
});
afterAll(() => stage.close());
beforeEach(() => stage.clear());

const plays: Readonly<Record<string, McpPlay<Row>>> = MCP_STATE_PLAYS;
describe.each(ERAS)('%s', (era) => {
  test.each(Object.keys(plays) as (keyof typeof STATE_ROWS)[])('%s', async (key) => {
    await plays[key]?.(sceneOn(stage, era), STATE_ROWS[key]);
  });
});
