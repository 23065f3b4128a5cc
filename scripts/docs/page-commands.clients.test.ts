import { expect, test } from 'vitest';
import { RUN_ELSEWHERE, isElsewhere } from './blocks-run-elsewhere.ts';
import { commandBlocks } from './command-blocks.ts';
import { runPage } from './page-script.ts';

const run = commandBlocks().filter((block) => !RUN_ELSEWHERE.some((reason) => isElsewhere(block, reason)));
const byPage = Object.entries(Object.groupBy(run, ({ page }) => page));

test('there are pages to run', () => {
  expect(byPage.length).toBeGreaterThan(12);
});

test.each(byPage)(
  'the commands of %s work as they are written, from top to bottom',
  async (_, blocks = []) => {
    const { code, output } = await runPage(blocks);
    expect(code, output).toBe(0);
  },
);
