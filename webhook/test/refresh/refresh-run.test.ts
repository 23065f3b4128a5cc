import { expect, it } from 'vitest';
import { callProxy, putProxy } from '../support/proxy-calls.ts';
import { refreshBench } from '../support/refresh-bench.ts';
import { expectNoTokenLost } from '../support/expect-no-token-lost.ts';
import { startUpstream } from '../support/upstream.ts';

it('a short run of mixed refreshes loses no refresh token (1,000 of them: refresh-run.hard.test.ts)', () =>
  expectNoTokenLost(60));

it('200 concurrent uses of an expired token, fetched or injected, make one provider call', async () => {
  const bench = await refreshBench();
  const upstream = await startUpstream();
  try {
    const { provider, webhook } = bench;
    await bench.store('api', { body: { allowedHosts: [upstream.url] } });
    await putProxy(webhook, upstream.url);
    const gate = provider.hold();
    const fetches = Array.from({ length: 100 }, () => bench.fetch('api'));
    const calls = Array.from({ length: 100 }, () => callProxy(webhook));
    await provider.arrived(1);
    gate.release();
    const given = new Set(await Promise.all(fetches));
    expect((await Promise.all(calls)).every(({ status }) => status === 200)).toBe(true);
    for (const { headers } of upstream.requests)
      given.add(headers.authorization?.slice('Bearer '.length) ?? '');
    expect([upstream.requests.length, given.size, provider.calls.length]).toEqual([100, 1, 1]);
    expect(provider.gave([...given][0] ?? '')).toBe(true);
  } finally {
    await bench.close();
    await upstream.close();
  }
});
