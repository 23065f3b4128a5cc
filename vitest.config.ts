import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

const PACKAGES = [
  'shared',
  'server-kit',
  'webhook',
  'control-plane',
  'conformance',
  'cli',
  'compose',
  'bench',
  'scripts',
];

/** One project per workspace, named after its folder. */
export function projects(options: {
  readonly include: string[];
  readonly exclude?: string[];
  readonly testTimeout: number;
}): TestProjectInlineConfiguration[] {
  return PACKAGES.map((name) => ({
    test: {
      name,
      root: `./${name}`,
      include: options.include,
      exclude: ['**/node_modules/**', '**/dist/**', ...(options.exclude ?? [])],
      testTimeout: options.testTimeout,
      hookTimeout: 60_000,
    },
  }));
}

// Where a script wants to count the tests, it names a file for the JSON report.
const resultsFile = process.env['TEST_RESULTS'];

// Two workers: the tests promise to pass on two cores in any order.
export default defineConfig({
  test: {
    maxWorkers: 2,
    reporters: resultsFile === undefined ? ['default'] : ['default', ['json', { outputFile: resultsFile }]],
    projects: projects({
      include: ['**/*.test.ts'],
      exclude: ['**/*.{hard,browser}.test.ts'],
      testTimeout: 30_000,
    }),
  },
});
