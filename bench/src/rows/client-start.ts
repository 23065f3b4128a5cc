import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Pair } from '@svault/compose/pair';
import { LOAD_CORE, SERVER_CORE } from '../machine.ts';
import type { Row } from '../report.ts';
import { median } from '../rounds.ts';
import { TARGETS } from '../targets.ts';
import { makeAgents, SERVICE } from './bench-agents.ts';

const SCRIPTS = fileURLToPath(new URL('../../../cli/scripts/', import.meta.url));
/** It runs what `npm ci` built, while no source is newer. */
const CHECKOUT = fileURLToPath(new URL('../../../svault', import.meta.url));
const STARTS_PER_ROUND = 7;
const VALUE = 'of-the-bench';

/** A way to have the client. */
interface Client {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
}

type Environment = Readonly<Record<string, string>>;

/**
 * How long `svault --help` and `svault get NAME` take, from the start of the process to its end, as users have the client: from its
 * npm package, as a single file, and as `./svault` of this checkout. Each start is compared with one of `node -e 0` right before
 * it: what else the machine does falls on both.
 * @param dir an existing folder for the builds and for what the client keeps
 */
export async function clientStarts(pair: Pair, dir: string, rounds: number): Promise<readonly Row[]> {
  const clients = builtClients(dir);
  const env = { HOME: dir, SVAULT_KEYCHAIN: 'off', SVAULT_BASE_URL: pair.controlPlaneUrl };
  const [{ command: first }] = clients;
  const owner = { ...env, SVAULT_KEY: pair.adminKey, SVAULT_WEBHOOK_URL: pair.webhookUrl };
  run([...first, 'tokens', 'create', SERVICE], owner, VALUE);
  const [key = ''] = await makeAgents(pair, 1);
  const agent = { ...env, SVAULT_KEY: key };
  if (run([...first, 'get', SERVICE], agent) !== VALUE) throw new Error('svault get printed another value');
  return clients.flatMap(({ name, command }) => [
    startRow(`svault --help, ${name}`, [...command, '--help'], agent, rounds, TARGETS.clientHelp),
    startRow(`svault get NAME, ${name}`, [...command, 'get', SERVICE], agent, rounds, TARGETS.clientGet),
  ]);
}

function builtClients(dir: string): readonly [Client, ...Client[]] {
  const folder = join(dir, 'package');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  run([process.execPath, join(SCRIPTS, 'build-package.ts'), folder], process.env);
  const single = [join(SCRIPTS, 'build-single-file.ts'), 'linux-x64', '--out', dir];
  run([process.execPath, ...single], process.env);
  return [
    { name: 'npm package', command: [process.execPath, join(folder, 'dist/bin.js')] },
    { name: 'single file', command: [join(dir, 'svault-linux-x64')] },
    { name: 'checkout', command: [CHECKOUT] },
  ];
}

function startRow(
  name: string,
  command: readonly string[],
  env: Environment,
  rounds: number,
  target: (typeof TARGETS)['clientHelp' | 'clientGet'],
): Row {
  // The first start leaves compiled code behind, as it does for a user.
  run(command, env);
  const samples = Array.from({ length: rounds * STARTS_PER_ROUND }, () => {
    const bareMs = timed([process.execPath, '-e', '0'], env);
    return { bareMs, ms: timed(command, env) };
  });
  const ms = median(samples.map((each) => each.ms));
  const bareMs = median(samples.map((each) => each.bareMs));
  return {
    name,
    value: median(samples.map((each) => each.ms / each.bareMs)),
    target,
    note: `${ms.toFixed(0)} ms; node -e 0: ${bareMs.toFixed(0)} ms`,
  };
}

/** Milliseconds. */
function timed(command: readonly string[], env: Environment): number {
  const startedAt = performance.now();
  run(command, env);
  return performance.now() - startedAt;
}

/** On both cores, as for a user. @returns its stdout @throws Error where it fails */
function run(command: readonly string[], env: NodeJS.ProcessEnv, input = ''): string {
  const { PATH } = process.env;
  const { status, stdout, stderr } = spawnSync('taskset', ['-c', `${SERVER_CORE},${LOAD_CORE}`, ...command], {
    env: { PATH, ...env },
    encoding: 'utf8',
    input,
  });
  if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stderr}`);
  return stdout;
}
