import { type AdminClient, createAdminClient } from '@svault/compose/admin-client';
import { freePort } from '@svault/compose/free-port';
import { type Pair, pairSettings, startPair } from '@svault/compose/pair';
import { startProgram } from '@svault/compose/program-process';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { newKey } from '@svault/shared';
import pg from 'pg';
import { LOAD_CORE, SERVER_CORE, pinnedTo } from '../machine.ts';
import { pidOf } from './control-plane.ts';
import { startDatabases } from './rates.ts';

/** A control plane, and the account that it made when it started. */
interface Member {
  readonly url: string;
  readonly pid: number;
  readonly admin: AdminClient;
}

/** Control planes on the servers' core; PostgreSQL, Redis and the webhook of the first account on the load's. */
export interface Cluster {
  readonly pair: Pair;
  readonly members: readonly Member[];
  readonly webhookPid: number;
  readonly postgresPid: number;
  readonly redisPid: number;
  readonly sql: pg.Client;
}

export async function startCluster(
  dir: string,
  size: number,
  started: AsyncDisposableStack,
): Promise<Cluster> {
  const { env: databaseEnv, url, postgresPid, redisPid } = await startDatabases(started);
  const env = { ...RAISED_LIMITS, ...databaseEnv };
  const launcher = { 'control-plane': pinnedTo(SERVER_CORE), webhook: pinnedTo(LOAD_CORE) };
  // Not the placeholder: the start of the next account would rename that one.
  const pair = await startPair({ dir, env, launcher, ownerEmail: 'bench@localhost' });
  started.defer(pair.stop);
  const { controlPlaneUrl, admin } = pair;
  const members: Member[] = [{ url: controlPlaneUrl, pid: pidOf(pair, 'control-plane'), admin }];
  while (members.length < size) {
    const member = await startMember(pair, { dir, env, account: `bench-${members.length}@localhost` });
    started.defer(member.stop);
    members.push(member);
  }
  const sql = new pg.Client({ connectionString: url });
  await sql.connect();
  started.defer(() => sql.end());
  return { pair, members, webhookPid: pidOf(pair, 'webhook'), postgresPid, redisPid, sql };
}

/** One more control plane of the pair's. */
async function startMember(
  pair: Pair,
  {
    dir,
    env,
    account,
  }: { readonly dir: string; readonly env: Readonly<Record<string, string>>; readonly account: string },
) {
  const portOf = (url: string): number => Number(new URL(url).port);
  const settings = pairSettings(
    { dir, env },
    { controlPlane: portOf(pair.controlPlaneUrl), webhook: portOf(pair.webhookUrl) },
  );
  const listen = `127.0.0.1:${await freePort()}`;
  const adminKey = newKey('svadmin');
  const program = await startProgram('control-plane', `http://${listen}`, {
    env: {
      ...settings.env,
      SV_LISTEN: listen,
      SV_BOOTSTRAP_EMAIL: account,
      SV_BOOTSTRAP_ADMIN_KEY: adminKey,
      SV_BOOTSTRAP_ADMIN_KEY_FILE: '',
    },
    cwd: dir,
    launcher: pinnedTo(SERVER_CORE),
  });
  if (program.child.pid === undefined) throw new Error('a control plane has no process');
  const url = `http://${listen}`;
  return { url, pid: program.child.pid, admin: createAdminClient(url, adminKey), stop: program.stop };
}
