import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { expect, it } from 'vitest';
import { startService } from '../../support/management-service.ts';
import { callAtOnce } from '../../support/mcp-callers.ts';

// R28: two hundred MCP clients with equal ids, a thousand calls each.

it('every answer reaches its own caller', async () => {
  const service = await startService(RAISED_LIMITS);
  expect(await callAtOnce(service, { callers: 200, calls: 1000 })).toEqual([]);
  await service.stop();
}, 1_200_000);
