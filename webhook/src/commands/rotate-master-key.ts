import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Subcommand } from '@svault/server-kit/program';
import { SettingsError, howToReplace } from '@svault/server-kit/settings';
import { AlreadyServing, holdServeLock } from '@svault/server-kit/sqlite';
import type { Context } from '../context.ts';
import { rotateMasterKey } from '../vault/master-key-rotation.ts';
import { withVault } from './with-vault.ts';

const HAND_OVER_MS = 30_000;
const HAND_OVER_POLL_MS = 100;

export const rotateMasterKeyCommand: Subcommand = {
  summary: 'Rotate to the root key in SV_WEBHOOK_MASTER_KEY_NEXT, also while serve runs',
  operands: 0,
  run: (_operands, surroundings) =>
    withVault(surroundings, async (context) => {
      const next = context.config.nextMasterKey;
      if (next === undefined)
        throw new SettingsError(['SV_WEBHOOK_MASTER_KEY_NEXT is missing: the key to move to']);
      const { masterKeys: store, keyring, rewrappables, audit, db, say } = context;
      const transact = <T>(work: () => T): T => db.transaction(work).immediate();
      const onProgress = (values: number): void =>
        surroundings.err(`${values} values are under the new root key\n`);
      const rotation = {
        ...{ store, keyring, rewrappables, audit, transact, onProgress },
        pause: () => setImmediate(),
      };
      const outcome = await rotateMasterKey(rotation, next.reveal());
      await handOver(context);
      say(outcome === 'rotated' ? 'The root key is rotated.' : 'The root key had been rotated already.');
      say(`${howToReplace(surroundings.env, 'SV_WEBHOOK_MASTER_KEY')} before the next start.`);
    }),
};

/** Waits until a running serve has taken the new key over and erased the link to it; without one, erases it here. */
async function handOver({ masterKeys, keyring, path }: Context): Promise<void> {
  const linked = (): boolean => masterKeys.list().some(({ link }) => link !== null);
  const polls = HAND_OVER_MS / HAND_OVER_POLL_MS;
  for (let poll = 0; poll < polls && linked(); poll += 1) {
    if (isServing(path)) await setTimeout(HAND_OVER_POLL_MS);
    else keyring.refresh();
  }
  if (linked()) throw new Error('the running serve has not taken the new key over: run this again');
}

function isServing(path: string): boolean {
  try {
    holdServeLock(path).release();
    return false;
  } catch (error) {
    if (error instanceof AlreadyServing) return true;
    throw error;
  }
}
