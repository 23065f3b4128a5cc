import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// Where a script wants to count the tests, it names a file for the JSON report.
const resultsFile = process.env['CONTAINER_TEST_RESULTS'];

// Real containers, one file after another: each starts several, and all share one engine and two cores.
export default defineConfig({
  test: {
    name: 'containers',
    root: './compose',
    include: ['test/containers/**/*.container.test.ts'],
    globalSetup: fileURLToPath(new URL('compose/test/containers/engine/global-images.ts', import.meta.url)),
    maxWorkers: 1,
    testTimeout: 180_000,
    hookTimeout: 300_000,
    reporters: resultsFile === undefined ? ['default'] : ['default', ['json', { outputFile: resultsFile }]],
  },
});
