import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type TestProjectInlineConfiguration, type TestUserConfig, defineConfig } from 'vitest/config';
import { quickFolder } from './test-kit/src/quick-folder.ts';

const PACKAGES = [
  'shared',
  'server-kit',
  'webhook',
  'control-plane',
  'conformance',
  'cli',
  'clients',
  'compose',
  'bench',
  'scripts',
];

const NOT_OURS = ['**/node_modules/**', '**/dist/**'];

/** Where programs that tests start keep compiled code, so that only the first start pays for it. */
const COMPILED = fileURLToPath(new URL('node_modules/.cache/svault-tests', import.meta.url));

/** A test that hangs fails after this; none fails because the machine is slow. */
const HANG_MS = 240_000;

/**
 * One project per workspace, named after its folder, and `control-plane-postgres`: the control plane's integration tests
 * with its state in PostgreSQL and its limits in Redis. A file that is about one of the databases says so in its name
 * (`*.sqlite.test.ts`, `*.postgres.test.ts`) and runs with that one only; those in test/limits need neither.
 *
 * @param options.names how the files end, such as `test.ts`
 */
export function projects(options: {
  readonly names: string;
  readonly exclude?: readonly string[];
  readonly testTimeout?: number;
  /** False: files share a process, one after another, and load what they all need once. */
  readonly isolate?: boolean;
  /** What runs on PostgreSQL: all, what only PostgreSQL can show and the contracts of the stores, or nothing. */
  readonly onPostgres: 'all' | 'stores' | 'none';
}): TestProjectInlineConfiguration[] {
  const { names, exclude = [], testTimeout = HANG_MS, isolate = true, onPostgres } = options;
  const shared = {
    testTimeout,
    isolate,
    hookTimeout: HANG_MS,
    expect: { poll: { timeout: HANG_MS / 4 } },
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
  const postgres = {
    test: {
      ...shared,
      name: 'control-plane-postgres',
      root: './control-plane',
      include:
        onPostgres === 'all'
          ? [`test/**/*.${names}`]
          : [`test/store/**/*.${names}`, `test/**/*.postgres.${names}`],
      exclude: [...NOT_OURS, '**/*.sqlite.*', 'test/limits/**', ...exclude],
      globalSetup: setupOf('global-postgres.ts'),
    },
  };
  return onPostgres === 'none' ? ofPackages : [...ofPackages, postgres];
}

/** What starts the databases of the control plane's tests. */
function setupOf(name: string): string {
  return fileURLToPath(new URL(`./control-plane/test/support/${name}`, import.meta.url));
}

/** Tests that `npm test` leaves to other commands. */
export const ELSEWHERE = ['**/*.{hard,browser,container,clients}.test.ts'];

/** In the reports of the gate, which counts the tests of all its runs. @param name of this run */
export function reporters(name: string): TestUserConfig['reporters'] {
  const folder = process.env['TEST_RESULTS'];
  return folder === undefined
    ? ['default']
    : ['default', ['json', { outputFile: join(folder, `${name}.json`) }]];
}

export default defineConfig(() => {
  // For all that tests start, too. Asked again for each project.
  process.env['TMPDIR'] = quickFolder();
  return {
    test: {
      // One more than cores: a third of the time is spent waiting for programs, connections and disks.
      maxWorkers: availableParallelism() + 1,
      reporters: reporters('test'),
      projects: projects({
        names: 'test.ts',
        exclude: ELSEWHERE,
        isolate: false,
        onPostgres: 'stores',
      }),
    },
  };
});
