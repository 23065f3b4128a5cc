import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '@svault/compose/free-port';
import { tempDir } from '@svault/test-kit/temp-dir';
import { administer, databaseUrl } from '@svault/test-kit/test-database';

const VERSIONS = '/usr/lib/postgresql';
const POLL_MS = 50;
const BOUND_MS = 60_000;

/** A PostgreSQL of the machine's own, for the tools that come with it: they do not work on a newer server. */
export interface DebianPostgres {
  /** Makes an empty database. @returns its address */
  create(name: string): Promise<string>;
  remove(): Promise<void>;
}

/** @throws Error where it is not installed, or does not start */
export async function startDebianPostgres(): Promise<DebianPostgres> {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).map(Number) : [];
  const bin = join(VERSIONS, String(Math.max(0, ...versions)), 'bin');
  if (!existsSync(join(bin, 'initdb'))) throw new Error('PostgreSQL is missing: apt-get install postgresql');
  const dir = tempDir();
  chmodSync(dir.path, 0o711);
  const data = join(dir.path, 'data');
  mkdirSync(data);
  // It refuses to run as root.
  const user = userInfo().uid === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  if (user.uid !== undefined) chownSync(data, user.uid, user.gid);
  const options = { ...user, cwd: data, env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C.UTF-8' } };
  const flags = ['--pgdata', data, '--username=svault', '--auth=trust', '--encoding=UTF8', '--no-sync'];
  execFileSync(join(bin, 'initdb'), flags, { ...options, stdio: 'pipe' });
  const port = await freePort();
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off'];
  const server = spawn(
    join(bin, 'postgres'),
    ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    { ...options, stdio: 'ignore' },
  );
  const url = `postgres://svault@127.0.0.1:${port}/postgres`;
  const isUp = (): Promise<boolean> =>
    administer(url, 'SELECT 1').then(
      () => true,
      () => false,
    );
  for (const end = Date.now() + BOUND_MS; !(await isUp()); await delay(POLL_MS))
    if (server.exitCode !== null || Date.now() > end) {
      server.kill('SIGKILL');
      throw new Error('PostgreSQL does not start');
    }
  return {
    create: async (name) => {
      await administer(url, `CREATE DATABASE ${name}`);
      return databaseUrl(url, name);
    },
    remove: async () => {
      const exited = once(server, 'exit');
      // Fast: without waiting for clients.
      server.kill('SIGINT');
      await exited;
      dir.remove();
    },
  };
}

const idOf = (which: '-g' | '-u'): number => Number(execFileSync('id', [which, 'postgres']));
