import { defineConfig } from 'vitest/config';
import { projects } from './vitest.config.ts';

// The slow tests: kills, floods and long runs. One at a time, since they measure what happens under load.
export default defineConfig({
  test: {
    maxWorkers: 1,
    projects: projects({ names: 'hard.test.ts', testTimeout: 600_000, onPostgres: 'all' }),
  },
});
