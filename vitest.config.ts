import { defineConfig } from 'vitest/config';

const packages = ['shared', 'server-kit', 'webhook', 'control-plane', 'conformance', 'cli', 'compose'];

// One project per workspace. Two workers: the tests promise to pass on two cores in any order.
// eslint-disable-next-line import/no-default-export -- vitest reads the default export
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: packages.map((name) => ({
      test: {
        name,
        root: `./${name}`,
        include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
        exclude: ['**/*.hard.test.ts', '**/node_modules/**', '**/dist/**'],
        testTimeout: 30_000,
        hookTimeout: 60_000,
      },
    })),
  },
});
