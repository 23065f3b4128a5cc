import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import { ERAS } from '../mcp-steps.ts';
import { MCP_AUTH_PLAYS } from './mcp-auth-plays.ts';
import { MCP_HISTORY_PLAYS } from './mcp-history-plays.ts';
import { MCP_METHOD_PLAYS } from './mcp-method-plays.ts';
import { MCP_ROWS } from './mcp-rows.ts';
import { type McpPlay, sceneOn } from './mcp-scene.ts';
import { MCP_TOOL_PLAYS } from './mcp-tool-plays.ts';
import type { Row } from './row.ts';
import { type Stage, raiseCurtain } from './stage.ts';

// What the specification says of the MCP endpoint, each row by its own words, in both eras of the protocol.

let stage: Stage;
beforeAll(async () => {
  stage = await raiseCurtain();
});
afterAll(() => stage.close());
beforeEach(() => stage.clear());

describe.each(ERAS)('%s', (era) => {
  describe.each([
    ['methods', MCP_METHOD_PLAYS],
    ['tools', MCP_TOOL_PLAYS],
    ['history', MCP_HISTORY_PLAYS],
    ['authentication', MCP_AUTH_PLAYS],
  ] as const)('%s', (_what, plays: Readonly<Record<string, McpPlay<Row>>>) => {
    test.each(Object.keys(plays) as (keyof typeof MCP_ROWS)[])('%s', async (key) => {
      await plays[key]?.(sceneOn(stage, era), MCP_ROWS[key]);
    });
  });
});
