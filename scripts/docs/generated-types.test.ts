import { expect, test } from 'vitest';
import { generatedTypes } from './generated-types.ts';

test("the console's types of the API are those of the OpenAPI document; `npm run docs:generate` writes them", async () => {
  const { now, wanted } = await generatedTypes();
  expect(wanted).toContain('"/api/overview": {');
  expect(now).toBe(wanted);
});
