/**
 * R31 where a provider takes longer than requests have at a stop: nobody hears its answer any more, and it is stored.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '@svault/shared';
import { type RefreshBench, refreshBench } from './support/refresh-bench.ts';
import { serveProcess } from './support/run-webhook.ts';
import { setToNow } from './support/store-until-killed.ts';

let bench: RefreshBench;
beforeAll(async () => {
  bench = await refreshBench({ clock: new ManualClock(Date.now()) });
});
afterAll(() => bench.close());

test('a token that was rotated without a waiting caller is stored at the next start', async () => {
  const { webhook, provider } = bench;
  await bench.store('late');
  const ticket = webhook.credentialTicket('late');
  await webhook.stop();
  const serving = await serveProcess(webhook.env);
  const gate = provider.hold();
  const fetched = fetch(`${serving.url}/v1/credential?ticket=${ticket}`).then(
    () => 'answered',
    () => 'cut',
  );
  await provider.arrived(1);
  const code = serving.end('SIGTERM');
  expect(await fetched).toBe('cut');
  gate.release();
  expect(await code).toBe(0);
  await webhook.restart();
  setToNow(webhook);
  expect(provider.gave(await bench.fetch('late'))).toBe(true);
  expect(provider.calls).toHaveLength(1);
});
