import type { Program, Subcommand } from '@svault/server-kit/program';
import { SettingsError, howToReplace } from '@svault/server-kit/settings';
import { onStop } from '@svault/server-kit/shutdown';
import type { Clock } from '@svault/shared';
import { type ControlPlaneConfig, controlPlaneConfig } from '../config/config.ts';
import type { Stores } from '../core/stores.ts';
import { startControlPlane } from '../serve.ts';
import { makeLoginLink } from '../sign-in/login-link.ts';
import { rewrapDataKey } from '../store/data-encryption-key.ts';
import { backup, restoreBackup } from './backup.ts';
import { MIGRATE_COMMANDS } from './migrate.ts';
import { moveToPostgres, undoMove } from './move-to-postgres.ts';
import { verifyDatabase } from './verify-database.ts';
import { verifyLogs } from './verify-logs.ts';
import { withDatabase } from './with-database.ts';

const serve: Subcommand = {
  summary: 'Serve until SIGTERM or SIGINT',
  operands: 0,
  run: async (_operands, { env, out, err }) => {
    const config = controlPlaneConfig(env);
    const starting = startControlPlane(config);
    // Before it is up: as the first process of a container it would not hear of a stop otherwise.
    onStop(async () => (await starting).close(), { drainSeconds: config.drainSeconds, err });
    const running = await starting;
    // Printed, not logged: the log masks it, as it masks every key.
    if (running.ownerLink !== undefined)
      out(
        `The console is at ${config.baseUrl}/. Sign in as the owner, once and within 30 minutes: ${running.ownerLink}\n`,
      );
  },
};

const ownerLink: Subcommand = {
  summary: 'Print a one-time link that signs the owner in to the console',
  operands: 0,
  run: async (_operands, { env, clock, out }) =>
    out(`${await makeOwnerLink(controlPlaneConfig(env), clock)}\n`),
};

/** For the account of SV_BOOTSTRAP_EMAIL, or for the only one there is. */
export function makeOwnerLink(config: ControlPlaneConfig, clock: Clock): Promise<string> {
  const { email } = config.bootstrap;
  const make = async (stores: Stores): Promise<string> => {
    const owners = await stores.users.owners();
    const owner = email === undefined ? owners[0] : owners.find((candidate) => candidate.email === email);
    if (owner === undefined) throw new Error('there is no such account yet: start the service once');
    if (email === undefined && owners.length > 1)
      throw new Error('there are several accounts: set SV_BOOTSTRAP_EMAIL to choose one');
    return (await makeLoginLink(stores, owner, { baseUrl: config.baseUrl, clock })).url;
  };
  return withDatabase(config, clock, ({ unitOfWork }) => unitOfWork.runAcross(make));
}

/** One row in one transaction: a kill leaves either the former state or the new one, and it can be repeated. */
const rotateMasterKey: Subcommand = {
  summary: 'Rotate to the root key in SV_MASTER_KEY_NEXT',
  operands: 0,
  run: async (_operands, { env, clock, out }) => {
    const config = controlPlaneConfig(env);
    const { masterKey: current, masterKeyNext: next } = config;
    if (next === undefined) throw new SettingsError(['SV_MASTER_KEY_NEXT is missing: the key to rotate to']);
    await withDatabase(config, clock, ({ kysely }) => rewrapDataKey(kysely, { current, next }));
    out(`The root key is rotated. ${howToReplace(env, 'SV_MASTER_KEY')} before the next start.\n`);
  },
};

/** Exit code 1 when a chain does not verify, so that a timer can raise an alarm. */
const auditVerify: Subcommand = {
  summary: 'Verify the hash chain of every account, and name the first break of each',
  operands: 0,
  run: async (_operands, { env, clock, out }) =>
    withDatabase(controlPlaneConfig(env), clock, async ({ stores }) =>
      (await verifyLogs(stores.audit, out)) === 0 ? 0 : 1,
    ),
};

/** The control plane and its subcommands. */
export const CONTROL_PLANE: Program = {
  name: 'control-plane',
  fallback: 'serve',
  subcommands: {
    serve,
    'owner-link': ownerLink,
    'rotate-master-key': rotateMasterKey,
    ...MIGRATE_COMMANDS,
    backup,
    'restore-backup': restoreBackup,
    'audit verify': auditVerify,
    'verify-database': verifyDatabase,
    'move-to-postgres': moveToPostgres,
    'undo-move': undoMove,
  },
};
