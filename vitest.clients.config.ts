import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { quickFolder } from './test-kit/src/quick-folder.ts';
import { projects, reporters } from './vitest.config.ts';

// Programs that other people wrote, mutated clients, and webhooks with planted faults: each is started for its test.
export default defineConfig(() => {
  process.env['TMPDIR'] = quickFolder();
  return {
    test: {
      maxWorkers: availableParallelism(),
      reporters: reporters('clients'),
      projects: projects({
        names: 'clients.test.ts',
        isolate: false,
        onPostgres: 'none',
      }),
    },
  };
});
