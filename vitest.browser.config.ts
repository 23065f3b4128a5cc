import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { projects, reporters } from './vitest.config.ts';

// The pages and the console in a real Chromium; the console once on PostgreSQL.
export default defineConfig({
  test: {
    maxWorkers: availableParallelism(),
    reporters: reporters('browser'),
    projects: projects({ names: 'browser.test.ts', onPostgres: 'stores' }),
  },
});
