import type { ServeOptions } from '@svault/control-plane/serve';

/** For tests that are not about these waits: a busy machine may need longer than half a second. */
export const ON_BUSY_MACHINE = {
  recordsMs: 20_000,
  redisMs: 10_000,
  oauthMs: 60_000,
} satisfies ServeOptions['timeouts'];
