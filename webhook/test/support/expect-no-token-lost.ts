import { expect } from 'vitest';
import { refreshBench } from './refresh-bench.ts';
import { lostTokens, mixedRefreshes, runTokens } from './refresh-run.ts';
import { startUpstream } from './upstream.ts';

/** What a run may answer: whoever comes in between is told to wait or to ask the service, and nobody loses a token. */
const EXPECTED =
  /^(fetch (200|409)|proxy (200|409)|notify (refreshed|202|409)|get (200|409)|update refreshed)$/;

/** One run of mixed refreshes; fails where a refresh token was shown twice, or is not the good one at the end. */
export async function expectNoTokenLost(refreshes: number): Promise<void> {
  const bench = await refreshBench();
  const upstream = await startUpstream();
  try {
    const tokens = await runTokens(bench, upstream, 10);
    const counts = await mixedRefreshes(bench, tokens, refreshes);
    expect([...counts.keys()].filter((what) => !EXPECTED.test(what))).toEqual([]);
    const { calls } = bench.provider;
    expect(calls.length).toBeGreaterThanOrEqual(refreshes);
    expect(calls.filter(({ outcome }) => outcome !== 'refreshed')).toEqual([]);
    // Each call showed a refresh token that no other one did.
    expect(new Set(calls.map(({ form }) => form.get('refresh_token'))).size).toBe(calls.length);
    expect(await lostTokens(bench, tokens)).toEqual([]);
    const injected = upstream.requests.map(({ headers }) => headers.authorization?.slice('Bearer '.length));
    expect(injected.length).toBeGreaterThan(0);
    expect(injected.filter((token) => !bench.provider.gave(token ?? ''))).toEqual([]);
  } finally {
    await bench.close();
    await upstream.close();
  }
}
