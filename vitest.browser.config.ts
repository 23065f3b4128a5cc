import { defineConfig } from 'vitest/config';
import { projects, reporters } from './vitest.config.ts';

// The pages in a real Chromium.
export default defineConfig({
  test: {
    maxWorkers: 1,
    reporters: reporters('browser'),
    projects: projects({ names: 'browser.test.ts', onPostgres: 'none' }),
  },
});
