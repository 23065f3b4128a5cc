import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openBackup } from '@svault/server-kit/backup-file';
import { makeAgeIdentity } from './age-identity.ts';
import { createKiller, timeOfWork } from './kill-in-work.ts';
import type { ProgramName } from './pair.ts';

/** What is backed up. */
export interface BackedUp {
  readonly program: ProgramName;
  readonly main: string;
  readonly env: NodeJS.ProcessEnv;
  readonly databasePath: string;
  readonly masterKey: Uint8Array;
  /** An empty place for backups and what is restored of them. */
  readonly folder: string;
}

/**
 * Kills `backup` with SIGKILL at random moments, plain and encrypted in turn, each time under the same name until it is made, and
 * opens every backup.
 *
 * @param kills how many, an even number
 * @param afterKill told after each kill; it checks the program
 * @returns how many of the kills left something half done
 * @throws Error where there is a half backup under the final name, or the command does not work again
 */
export async function backUpThroughKills(
  backedUp: BackedUp,
  kills: number,
  afterKill: () => Promise<void>,
): Promise<number> {
  const { main, databasePath, folder } = backedUp;
  const backups = join(folder, 'backups');
  mkdirSync(backups);
  const identity = makeAgeIdentity(join(folder, 'identity'));
  const kinds = [
    { env: backedUp.env, half: (file: string) => `${file}.partial`, identityFile: undefined },
    {
      env: { ...backedUp.env, SV_BACKUP_RECIPIENTS: identity.recipient },
      half: () => `${databasePath}.backup`,
      identityFile: identity.path,
    },
  ];
  let halfDone = 0;
  for (const [index, { env, half, identityFile }] of kinds.entries()) {
    const workOn = (file: string) => {
      const [halfFile, startedAtMs] = [half(file), Date.now()];
      // One that an earlier kill left says nothing.
      const begun = (): boolean =>
        (statSync(halfFile, { throwIfNoEntry: false })?.ctimeMs ?? 0) > startedAtMs;
      return { main, words: ['backup', file], env, begun };
    };
    const open = (file: string): Promise<void> => mustOpen(backedUp, file, identityFile);
    const first = join(backups, `${index}.first`);
    const killInWork = createKiller(await timeOfWork(workOn(first)));
    await open(first);
    for (let [left, round] = [kills / kinds.length, 0]; left > 0; round += 1) {
      const file = join(backups, `${index}.${round}`);
      while (left > 0 && !existsSync(file)) {
        const work = workOn(file);
        if (!(await killInWork(work))) break;
        left -= 1;
        if (work.begun()) halfDone += 1;
        if (existsSync(file)) await open(file);
        await afterKill();
      }
      if (!existsSync(file)) await timeOfWork(workOn(file));
      await open(file);
    }
  }
  const strange = readdirSync(backups).filter((name) => !/^\d\.(first|\d+)$/.test(name));
  if (strange.length > 0) throw new Error(`kills left ${strange.join(', ')}`);
  return halfDone;
}

async function mustOpen(
  { program, masterKey, folder }: BackedUp,
  file: string,
  identityFile: string | undefined,
): Promise<void> {
  await openBackup(file, join(folder, 'opened'), {
    program,
    masterKeys: () => Promise.resolve([masterKey]),
    identityFile,
    whereToGiveKey: 'nowhere',
  });
}
