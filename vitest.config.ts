import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { quickFolder } from './test-kit/src/quick-folder.ts';

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

const NOT_OURS = ['**/node_modules/**', '**/dist/**'];

/** Where programs that tests start keep compiled code, so that only the first start pays for it. */
const COMPILED = fileURLToPath(new URL('node_modules/.cache/svault-tests', import.meta.url));

/**
 * One project per workspace, named after its folder, and `control-plane-postgres`: the control plane's integration tests
 * once more, with its state in PostgreSQL and its limits in Redis. A file that is about one of the databases says so in
 * its name (`*.sqlite.test.ts`, `*.postgres.test.ts`) and runs with that one only; those in test/limits need neither.
 *
 * @param options.names how the files end, such as `test.ts`
 */
export function projects(options: {
  readonly names: string;
  readonly exclude?: string[];
  readonly testTimeout: number;
  /** False: files share a process, one after another, and load what they all need once. */
  readonly isolate?: boolean;
  /** False leaves the second run out. */
  readonly onPostgres?: boolean;
}): TestProjectInlineConfiguration[] {
  const { names, exclude = [], testTimeout, isolate = true } = options;
  const shared = {
    testTimeout,
    isolate,
    hookTimeout: 60_000,
    // A second is soon over on a busy machine.
    expect: { poll: { timeout: 20_000 } },
    env: { NODE_COMPILE_CACHE: COMPILED },
  };
  const ofPackages = PACKAGES.map((name) => ({
    test: {
      ...shared,
      name,
      root: `./${name}`,
      include: [`**/*.${names}`],
      exclude: [...NOT_OURS, '**/*.postgres.*', ...exclude],
      ...(name === 'control-plane' && { globalSetup: setupOf('global-sqlite.ts') }),
    },
  }));
  if (options.onPostgres === false) return ofPackages;
  const onPostgres = {
    test: {
      ...shared,
      name: 'control-plane-postgres',
      root: './control-plane',
      include: [`test/**/*.${names}`],
      exclude: [...NOT_OURS, '**/*.sqlite.*', 'test/limits/**', ...exclude],
      globalSetup: setupOf('global-postgres.ts'),
    },
  };
  return [...ofPackages, onPostgres];
}

/** What starts the databases of the control plane's tests. */
function setupOf(name: string): string {
  return fileURLToPath(new URL(`./control-plane/test/${name}`, import.meta.url));
}

// Where a script wants to count the tests, it names a file for the JSON report.
const resultsFile = process.env['TEST_RESULTS'];

// Two workers: the tests promise to pass on two cores in any order. Three were no faster there.
export default defineConfig(() => {
  // For all that tests start, too. Asked again for each project.
  process.env['TMPDIR'] = quickFolder();
  return {
    test: {
      maxWorkers: 2,
      reporters: resultsFile === undefined ? ['default'] : ['default', ['json', { outputFile: resultsFile }]],
      projects: projects({
        names: 'test.ts',
        exclude: ['**/*.{hard,browser,container}.test.ts'],
        testTimeout: 60_000,
        isolate: false,
      }),
    },
  };
});
