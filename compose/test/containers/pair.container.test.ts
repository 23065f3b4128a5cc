import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PairInContainers, startPairInContainers } from './pair-in-containers.ts';

let pair: PairInContainers;
beforeAll(async () => {
  pair = await startPairInContainers();
});
afterAll(() => pair.remove());

test('compose up ends with both bound and says what to do next', async () => {
  expect(await pair.admin.call('GET', '/api/webhook')).toMatchObject({ url: pair.webhookUrl });
  expect(pair.instructions).toContain(`webhook        ${pair.webhookUrl}  (bound)`);
});
