import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { systemReason } from '../../system-reason.ts';
import { projectIn } from '../../webhook-project/project-folder.ts';
import { type Finding, ok, problem, skipped, warning } from './finding.ts';

const CHECK = 'backups';
const MAX_AGE_DAYS = 7;
const DAY_MS = 86_400_000;

/** How old the newest backup is. The programs do not know: a backup is a file that somebody else keeps. */
export async function backupFinding(folder: string | undefined): Promise<Finding> {
  const where = folder ?? (await backupsOfProject());
  if (where === undefined)
    return skipped(CHECK, 'svault does not know where they are: svault doctor --backups FOLDER');
  let newest: number | undefined;
  try {
    newest = await newestIn(where);
  } catch (error) {
    return problem(
      CHECK,
      `${where} cannot be read: ${systemReason(error)}`,
      'name the folder of the backups',
    );
  }
  if (newest === undefined) return problem(CHECK, `there is none in ${where}`, `make one: ${HOW}`);
  const days = Math.floor((Date.now() - newest) / DAY_MS);
  const age = days === 0 ? 'less than a day' : days === 1 ? '1 day' : `${days} days`;
  if (days < MAX_AGE_DAYS) return ok(CHECK, `the newest one in ${where} is ${age} old`);
  return warning(
    CHECK,
    `the newest one in ${where} is ${age} old`,
    `make one, and have a timer make them: ${HOW}`,
  );
}

const HOW =
  'the subcommand backup FILE of the control plane and of the webhook (in a project of svault webhook init, its README has the line)';

async function backupsOfProject(): Promise<string | undefined> {
  const folder = resolve('.');
  return (await projectIn(folder).catch(() => undefined)) === undefined ? undefined : join(folder, 'backups');
}

/** @returns when the newest file of a folder was written, in milliseconds */
async function newestIn(folder: string): Promise<number | undefined> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.'));
  const times = await Promise.all(files.map(async ({ name }) => (await stat(join(folder, name))).mtimeMs));
  return times.length === 0 ? undefined : Math.max(...times);
}
