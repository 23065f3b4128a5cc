import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { hasPython, installWheel, pythonEnvironment } from './python.ts';
import { ROOT, mustRun, run } from './run.ts';

/** One call of a client; the names are those of the Python client. */
export interface Call {
  readonly call: 'get' | 'grants' | 'mcp' | 'mcp_proxy' | 'create_sealing_key';
  readonly service?: string;
  readonly key?: string;
  readonly curve?: string;
  readonly options?: {
    readonly base_url?: string;
    readonly key?: string;
    readonly webhook_url?: string;
    readonly sealing_key?: object | string;
    /** Seconds. */
    readonly timeout?: number;
    readonly max_wait?: number;
  };
}

/** What came of a call; the names are those of the Node client. */
export interface Outcome {
  // oxlint-disable-next-line typescript/no-explicit-any -- each call has its own; a wrong shape fails the assertion
  readonly result?: any;
  readonly error?: {
    readonly name: string;
    readonly message: string;
    readonly code?: string;
    readonly status?: number;
    readonly requestId?: string;
    readonly retryAfter?: number;
    readonly policy?: string;
    readonly reason?: string;
  };
  /** What a log would have of the client and the result, or of the error. */
  readonly shown: string;
  /** In seconds. */
  readonly pauses: readonly number[];
}

type Environment = Readonly<Record<string, string>>;

export interface PackedClient {
  readonly name: string;
  readonly isInstalled: boolean;
  /** What the constructor throws for options that cannot be. */
  readonly usageError: string;
  /** Packs the client and installs it into an empty folder. @returns how its driver is run there */
  install(folder: string): (env: Environment, calls: readonly Call[]) => Promise<readonly Outcome[]>;
}

const support = (name: string): string => join(ROOT, 'clients/test/support', name);

const drive =
  (driver: readonly string[], cwd: string, further: Environment = {}) =>
  async (env: Environment, calls: readonly Call[]): Promise<readonly Outcome[]> => {
    const { code, stdout, stderr } = await run([...driver, JSON.stringify(calls)], {
      cwd,
      env: { ...further, ...env },
    });
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout) as Outcome[];
  };

const NODE_CLIENT: PackedClient = {
  name: 'the client for Node',
  isInstalled: true,
  usageError: 'TypeError',
  install(folder) {
    const project = join(folder, 'project');
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }');
    const tarball = mustRun([
      process.execPath,
      join(ROOT, 'scripts/pack.ts'),
      'clients/node',
      join(folder, 'packed'),
    ]);
    const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
    mustRun(['npm', 'install', ...options, tarball.trim()], { cwd: project });
    copyFileSync(support('driver.mjs'), join(project, 'driver.mjs'));
    return drive(['node', 'driver.mjs'], project);
  },
};

const PYTHON_CLIENT: PackedClient = {
  name: 'the client for Python',
  isInstalled: hasPython,
  usageError: 'ValueError',
  install(folder) {
    const python = pythonEnvironment();
    const site = installWheel(python, folder);
    // -S: none of the libraries of the environment, but for what sealed deliveries take.
    const libraries = mustRun([python, '-c', 'import cryptography; print(cryptography.__path__[0])']).trim();
    const PYTHONPATH = `${site}:${dirname(libraries)}`;
    return drive([python, '-S', '-W', 'error', support('driver.py')], folder, { PYTHONPATH });
  },
};

export const PACKED_CLIENTS: readonly PackedClient[] = [NODE_CLIENT, PYTHON_CLIENT];
