import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Scale, startScale } from './scale.ts';

let scale: Scale;
beforeAll(async () => {
  scale = await startScale();
});
afterAll(() => scale?.remove());

test('is bound', async () => {
  expect(await scale.admin.call('GET', '/api/webhook')).toMatchObject({ url: scale.owner.url });
});
