import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { quickFolder } from './test-kit/src/quick-folder.ts';
import { projects, reporters } from './vitest.config.ts';

// Programs as their users start them: by other authors, of the documentation, npm start, mutated clients, faulty webhooks.
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
