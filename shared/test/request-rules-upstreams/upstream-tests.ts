import { expect, it } from 'vitest';
import { compareUpstreams } from './compare-upstreams.ts';
import { missingPrograms } from './program-upstream.ts';

/** Beyond a millisecond for each request. */
const HANG_MS = 240_000;

/** What three upstreams read of requests that the rules allow. */
export function upstreamTests(options: { readonly requests: number; readonly seed: number }): void {
  const missing = missingPrograms();
  if (missing.length > 0)
    process.stderr.write(
      `NOT TESTED: upstreams of request rules, since ${missing.join(', ')} is not installed\n`,
    );

  it.skipIf(missing.length > 0)(
    'are read the same way by Node, Python and Go where they are allowed, and as a rule allows it',
    async () => {
      const { allowed, differences, denied } = await compareUpstreams(options);
      process.stderr.write(
        `${options.requests} requests: ${allowed} allowed; of ${denied.shown} denied for two readings the upstreams read ${denied.readDifferently} differently\n`,
      );
      expect(differences).toEqual([]);
      // Otherwise the requests, or the comparison, would have lost their edge.
      expect(allowed).toBeGreaterThan(options.requests / 10);
      expect(denied.readDifferently).toBeGreaterThan(denied.shown / 10);
    },
    HANG_MS + options.requests,
  );
}
