import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@svault/compose/free-port';
import { cpuSecondsOf, pinnedTo } from './machine.ts';

/** A server in a separate process, pinned to one core. */
export interface ServerProcess {
  readonly pid: number;
  stop(): Promise<void>;
}

interface ServerOptions {
  /** Arguments of Node: a file and what it takes. */
  readonly args: readonly string[];
  /** Answers 200 when the server can do its job. */
  readonly readyUrl: string;
  readonly core: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/**
 * Starts one of our own servers.
 * @param options.args what it takes: its port, unless given
 * @param options.readyPath `/` unless given
 */
export async function startOwnServer(
  file: URL,
  core: number,
  options: {
    readonly args?: (port: string) => readonly string[];
    readonly env?: NodeJS.ProcessEnv;
    readonly readyPath?: string;
  } = {},
): Promise<ServerProcess & { readonly url: string }> {
  const { args = (port) => [port], readyPath = '/', env = {} } = options;
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  const server = { args: [fileURLToPath(file), ...args(port)], readyUrl: url + readyPath, core, env };
  return { url, ...(await startServer(server)) };
}

const READY_TIMEOUT_MS = 20_000;
const READY_POLL_MS = 5;

/** @throws Error with the server's last words when it does not become ready */
export async function startServer({ args, readyUrl, core, env, cwd }: ServerOptions): Promise<ServerProcess> {
  const [command, ...pin] = pinnedTo(core);
  const child = spawn(command, [...pin, process.execPath, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(cwd !== undefined && { cwd }),
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4000)));
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  };
  try {
    await ready(child, readyUrl);
  } catch (error) {
    await stop();
    throw new Error(`${args[0]} did not become ready: ${said}`, { cause: error });
  }
  if (child.pid === undefined) throw new Error(`${args[0]} has no process`);
  return { pid: child.pid, stop };
}

async function ready(child: ChildProcess, url: string): Promise<void> {
  for (let waited = 0; waited < READY_TIMEOUT_MS; waited += READY_POLL_MS) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    const answer = await fetch(url).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.status === 200) return;
    await delay(READY_POLL_MS);
  }
  throw new Error('it did not answer in time');
}

/** Long enough to tell a log that is being shipped, about 60 ms a second, from processes that only look whether to. */
const SETTLE_WINDOW_MS = 1_000;
const SETTLED_SHARE = 0.03;
/** A run leaves tens of thousands of events, shipped at up to a thousand a second. */
const SETTLE_TIMEOUT_MS = 180_000;

/**
 * Waits until the processes are idle: no run pays for the one before.
 * @returns the CPU seconds that they had used when they began to be
 * @throws Error after three minutes
 */
export async function settle(pids: readonly number[]): Promise<number> {
  for (let waited = 0; waited < SETTLE_TIMEOUT_MS; waited += SETTLE_WINDOW_MS) {
    const before = cpuSecondsOf(pids);
    await delay(SETTLE_WINDOW_MS);
    if ((cpuSecondsOf(pids) - before) * 1000 < SETTLE_WINDOW_MS * SETTLED_SHARE) return before;
  }
  throw new Error('the servers did not come to rest');
}
