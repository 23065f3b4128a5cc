import { parseTime } from '@svault/shared';
import { jsonObject } from '../http/read-answer.ts';
import type { Tools } from './tools.ts';

/** Protocol section 3: how far the two clocks may differ. */
const MAX_SKEW_MS = 30_000;

/**
 * How far the webhook's clock is ahead of the suite's, in milliseconds, so that what the webhook computes from the
 * time can be computed again. To within a second, since its answer may have no fraction; 0 where it has none.
 */
export async function clockAheadMs(tools: Tools): Promise<number> {
  const from = Date.now();
  const health = await tools.signed({ method: 'POST', path: '/v1/health' });
  const time = jsonObject(health)?.['time'];
  const there = typeof time === 'string' ? parseTime(time) : undefined;
  if (there === undefined) return 0;
  const aheadMs = there - (from + Date.now()) / 2;
  // Nothing that is signed would be accepted by such a clock: what it says there is not what it goes by.
  return Math.abs(aheadMs) > MAX_SKEW_MS ? 0 : aheadMs;
}
