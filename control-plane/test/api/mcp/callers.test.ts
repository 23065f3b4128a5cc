import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { expect, it } from 'vitest';
import { startService } from '../../support/management-service.ts';
import { callAtOnce } from '../../support/mcp-callers.ts';

// R28 in small; `npm run test:hard` has two hundred callers with a thousand calls each.

it('every answer reaches its own caller', async () => {
  const service = await startService(RAISED_LIMITS);
  expect(await callAtOnce(service, { callers: 30, calls: 12 })).toEqual([]);
  await service.stop();
});
