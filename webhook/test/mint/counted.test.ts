import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { ACCESS_KEY, type FakeSts, startFakeSts, stsError } from '../support/fake-sts.ts';

let webhook: BoundWebhook;
let sts: FakeSts;
beforeAll(async () => {
  sts = await startFakeSts({ now: () => webhook.clock.now() });
  webhook = await boundWebhook({
    env: {
      SV_AWS_STS_ENDPOINT: sts.url.replace('127.0.0.1', 'localhost'),
      SV_METRICS_LISTEN: '127.0.0.1:0',
    },
  });
});
afterAll(async () => {
  await webhook.remove();
  await sts.stop();
});

const mints = async (outcome: string): Promise<number> => {
  const text = await (await fetch(`${webhook.metricsUrl}/metrics`)).text();
  const series = `svault_webhook_mints_total{minter="aws-sts",outcome="${outcome}"} `;
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(series))
      ?.slice(series.length),
  );
};

it('what a provider was asked for is counted by its outcome, and what the cache has is not', async () => {
  await webhook.store('aws', { tokenType: 'RawCredential', minter: { type: 'aws-sts', ...ACCESS_KEY } });
  const { answer } = sts;
  sts.answer = () => stsError(403, 'AccessDenied', 'no');
  expect((await webhook.credential('aws')).status).toBe(422);
  sts.answer = answer;
  expect((await webhook.credential('aws')).status).toBe(200);
  expect((await webhook.credential('aws')).status).toBe(200);
  expect([await mints('minted'), await mints('MINT_FAILED'), await mints('other')]).toEqual([1, 1, 0]);
});
