import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { quickFolder } from './test-kit/src/quick-folder.ts';
import { ELSEWHERE, projects, reporters } from './vitest.config.ts';

// The control plane's integration tests once more, with its state in PostgreSQL and its limits in Redis.
export default defineConfig(() => {
  process.env['TMPDIR'] = quickFolder();
  return {
    test: {
      maxWorkers: availableParallelism(),
      reporters: reporters('postgres'),
      projects: projects({
        names: 'test.ts',
        exclude: ELSEWHERE,
        isolate: false,
        onPostgres: 'all',
      }).filter(({ test }) => test?.name === 'control-plane-postgres'),
    },
  };
});
