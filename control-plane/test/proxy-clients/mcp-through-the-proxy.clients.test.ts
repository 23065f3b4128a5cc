import { afterAll, beforeAll, expect, test } from 'vitest';
import { sameThroughProxy } from './as-without-it.ts';
import { v1, v2 } from './callers.ts';
import { rawSteps } from './raw-steps.ts';
import { sdkSteps } from './sdk-steps.ts';
import { type Upstreams, startUpstreams } from './upstreams.ts';

// Other clients at these servers: mcp-through-the-proxy.sqlite.hard.test.ts.
let upstreams: Upstreams;
beforeAll(async () => {
  upstreams = await startUpstreams();
});
afterAll(() => upstreams.stop());

test('the first SDK’s client works at its server as without the proxy', async () => {
  const steps = await sameThroughProxy(upstreams, 'v1', (door) => sdkSteps(v1, door));
  expect(steps.size).toBeGreaterThan(30);
  // Such a list could be equal because nothing works.
  expect(steps.get('hello')).toMatchObject({ version: '2025-11-25', instructions: 'Ask it anything.' });
  expect(steps.get('progress')).toMatchObject({ progress: [{}, {}, {}, {}, { progress: 5, total: 5 }] });
  expect(steps.get('cancelled')).toMatchObject({ told: expect.stringContaining('true') });
  expect(steps.get('an answer whose connection is cut')).toMatchObject({
    cuts: 1,
    result: { content: [{ text: '5 steps' }] },
    notifications: Array.from({ length: 5 }, (_, n) => ({ params: { data: `step ${n + 1}` } })),
  });
});

test('the second SDK’s client works at its server as without the proxy, without sessions', async () => {
  const pinned = v2({ pin: '2026-07-28' });
  const steps = await sameThroughProxy(upstreams, 'v2', (door) => sdkSteps(pinned, door));
  expect(steps.get('hello')).toMatchObject({ version: '2026-07-28' });
});

test('requests by hand, wrong ones too, are answered as without the proxy', async () => {
  const steps = await sameThroughProxy(upstreams, 'v1', rawSteps);
  expect(steps.get('batch')).toMatchObject({ status: 200, type: 'text/event-stream' });
  expect(steps.get('DELETE')).toMatchObject({ status: 200 });
  expect(steps.get('after DELETE')).toMatchObject({ status: 404 });
});
