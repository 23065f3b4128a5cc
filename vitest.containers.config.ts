import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { reporters } from './vitest.config.ts';

// Real containers, one file after another: each starts several, and all share one engine and two cores.
export default defineConfig({
  test: {
    name: 'containers',
    include: ['{compose/test/containers,scripts/release}/**/*.container.test.ts'],
    globalSetup: fileURLToPath(new URL('compose/test/containers/engine/global-images.ts', import.meta.url)),
    maxWorkers: 1,
    testTimeout: 180_000,
    hookTimeout: 300_000,
    reporters: reporters('containers'),
  },
});
