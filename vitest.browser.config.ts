import { defineConfig } from 'vitest/config';
import { projects } from './vitest.config.ts';

// The pages in a real Chromium.
export default defineConfig({
  test: {
    maxWorkers: 1,
    projects: projects({ names: 'browser.test.ts', testTimeout: 60_000, onPostgres: false }),
  },
});
