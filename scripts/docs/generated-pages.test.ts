import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { generatedPages } from './generated-pages.ts';

test('the reference tables are those of the code; `npm run docs:generate` writes them', async () => {
  const pages = await generatedPages();
  const parts = pages.map(({ file, wanted }) => [
    basename(file.pathname),
    wanted.split('\n').filter((line) => line.startsWith('|')).length > 10,
  ]);
  expect(parts.every(([, filled]) => filled)).toBe(true);
  for (const { file, now, wanted } of pages) expect(now, basename(file.pathname)).toBe(wanted);
});
