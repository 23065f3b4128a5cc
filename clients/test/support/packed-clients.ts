import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { hasPython } from '@svault/test-kit/foreign-packages';
import { ROOT, mustRun, run } from '@svault/test-kit/run-program';
import { installWheel, pythonEnvironment } from './python.ts';

/** One call of a client; the names are those of the Python client. */
export interface Call {
  readonly call: 'get' | 'grants' | 'mcp' | 'mcp_proxy' | 'create_sealing_key';
  readonly service?: string | null;
  readonly key?: string;
  readonly curve?: string;
  readonly options?: {
    readonly base_url?: string;
    readonly key?: string;
    readonly webhook_url?: string;
    readonly sealing_key?: object | string;
    readonly require_sealed?: boolean;
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
    readonly rule?: string;
    readonly isRetryable: boolean;
    readonly reason?: string;
  };
  /** What a log would have of the client and the result, or of the error. */
  readonly shown: string;
  /** In seconds. */
  readonly pauses: readonly number[];
  /** What the client said of them, as `CODE: 7 s`. */
  readonly waits: readonly string[];
}

type Environment = Readonly<Record<string, string>>;

/** A packed client in an empty folder. */
export interface InstalledClient {
  /** What runs a program that uses it, before the program's file. */
  readonly interpreter: readonly string[];
  readonly env: Environment;
  /** Runs calls in one process of the client's driver. */
  drive(env: Environment, calls: readonly Call[]): Promise<readonly Outcome[]>;
}

export interface PackedClient {
  readonly name: string;
  readonly isInstalled: boolean;
  /** Packs the client and installs it. @param folder an empty one; programs that use the client lie in it */
  install(folder: string): Promise<InstalledClient>;
}

const support = (name: string): string => join(ROOT, 'clients/test/support', name);

const installed = (
  driver: string,
  { interpreter, env, cwd }: Pick<InstalledClient, 'interpreter' | 'env'> & { readonly cwd: string },
): InstalledClient => ({
  interpreter,
  env,
  drive: async (further, calls) => {
    const command = [...interpreter, driver, JSON.stringify(calls)];
    const { code, stdout, stderr } = await run(command, { cwd, env: { ...env, ...further } });
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout) as Outcome[];
  },
});

export const NODE_CLIENT: PackedClient = {
  name: 'the client for Node',
  isInstalled: true,
  async install(folder) {
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
    // As the guide says it, on the machine's own Node.
    const guide = readFileSync(join(ROOT, 'docs/guides/node-agent.md'), 'utf8');
    const [, packing = ''] = /^npm ci && (.*) out\b/m.exec(guide) ?? [];
    const packed = await mustRun(['sh', '-c', `${packing} "$0"`, join(folder, 'packed')], { cwd: ROOT });
    const tarball = packed.slice(packed.lastIndexOf('\n') + 1);
    const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
    await mustRun(['npm', 'install', ...options, tarball], { cwd: folder });
    copyFileSync(support('driver.mjs'), join(folder, 'driver.mjs'));
    return installed('driver.mjs', { interpreter: ['node'], env: {}, cwd: folder });
  },
};

export const PYTHON_CLIENT: PackedClient = {
  name: 'the client for Python',
  isInstalled: hasPython,
  async install(folder) {
    const python = await pythonEnvironment();
    const site = await installWheel(python, join(folder, 'packed'));
    // -S: none of the libraries of the environment, but for what sealed deliveries take.
    const interpreter = [python, '-S', '-W', 'error'];
    const libraries = await mustRun([python, '-c', 'import cryptography; print(cryptography.__path__[0])']);
    const env = { PYTHONPATH: `${site}:${dirname(libraries)}` };
    return installed(support('driver.py'), { interpreter, env, cwd: folder });
  },
};

export const PACKED_CLIENTS: readonly PackedClient[] = [NODE_CLIENT, PYTHON_CLIENT];
