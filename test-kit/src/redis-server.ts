import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { freePort } from '@svault/compose/free-port';

/** A Redis of a test's own: on loopback, in memory only. */
export interface RedisServer {
  readonly url: string;
  /** Of its process; another one after a start. */
  pid(): number;
  /** SIGSTOP: it keeps its connections and answers nothing. */
  pause(): void;
  resume(): void;
  /** SIGKILL; what it held is gone. */
  kill(): Promise<void>;
  /** Again on the same port, empty. */
  start(): Promise<void>;
}

const PROGRAMS = ['redis-server', 'valkey-server'] as const;

/** The machine's Redis; undefined where there is none, which a test that needs it has to say. */
export const REDIS_PROGRAM: string | undefined = PROGRAMS.find(
  (program) => spawnSync(program, ['--version']).status === 0,
);

/** What a test says that does not run here. */
export const NO_REDIS = `needs ${PROGRAMS.join(' or ')} on the path`;

/** Enough for a separate one in each worker of a whole run (test-database.ts). */
const DATABASES = 16_384;

/** @throws Error where there is no Redis on the machine, or where it does not start */
export async function startRedis(): Promise<RedisServer> {
  const port = await freePort();
  let server = await listenOn(port);
  return {
    url: `redis://127.0.0.1:${port}`,
    pid: () => {
      if (server.pid === undefined) throw new Error(`${REDIS_PROGRAM} has no process`);
      return server.pid;
    },
    pause: () => void server.kill('SIGSTOP'),
    resume: () => void server.kill('SIGCONT'),
    kill: () => end(server),
    start: async () => {
      server = await listenOn(port);
    },
  };
}

async function listenOn(port: number): Promise<ChildProcess> {
  if (REDIS_PROGRAM === undefined) throw new Error(NO_REDIS);
  const settings = {
    port,
    bind: '127.0.0.1',
    save: '',
    appendonly: 'no',
    daemonize: 'no',
    databases: DATABASES,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = spawn(REDIS_PROGRAM, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const withUs = (): void => void server.kill('SIGKILL');
  process.once('exit', withUs);
  server.once('exit', () => process.off('exit', withUs));
  for await (const line of createInterface(server.stdout)) {
    if (!line.includes('Ready to accept connections')) continue;
    server.stdout.resume();
    return server;
  }
  throw new Error(`${REDIS_PROGRAM} did not start on port ${port}`);
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const gone = once(server, 'exit');
  // A paused process does not notice any other signal.
  server.kill('SIGKILL');
  await gone;
}
