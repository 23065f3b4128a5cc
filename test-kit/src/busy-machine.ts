import type { ServeOptions } from '@svault/control-plane/serve';

/** For tests that are not about these waits: beside others a machine may be so busy that half a second is too short. */
export const ON_BUSY_MACHINE = {
  recordsMs: 20_000,
  redisMs: 10_000,
} satisfies ServeOptions['timeouts'];
