import { open, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  type BackupProgram,
  type BackupTrailer,
  MAX_BACKUP_TAIL_BYTES,
  readBackupTail,
} from '@svault/shared/backup-trailer';
import { systemReason } from '../../system-reason.ts';
import { projectIn } from '../../webhook-project/project-folder.ts';
import { type Finding, longTime, ok, problem, skipped } from './finding.ts';

const HOUR_MS = 3_600_000;
const PROGRAMS: readonly BackupProgram[] = ['control-plane', 'webhook'];
const HOW =
  'make one, and have a timer make them: the subcommand backup FILE (in a project of svault webhook init, its README has the line)';

/** What is expected of backups. */
export interface ExpectedBackups {
  /** Default: those of the webhook project in this folder. */
  readonly backups?: string;
  /** Default: both programs. */
  readonly backupsOf?: BackupProgram;
  readonly maxBackupAge: number;
}

/**
 * How old the newest backup of each program is, by what the files say of themselves. The programs do not know: a backup is a
 * file that somebody else keeps. Whether it opens, only its master key can tell.
 */
export async function backupFindings({
  backups,
  backupsOf,
  maxBackupAge,
}: ExpectedBackups): Promise<readonly Finding[]> {
  const folder = backups ?? (await backupsOfProject());
  if (folder === undefined)
    return [skipped('backups', 'svault does not know where they are: svault doctor --backups FOLDER')];
  const programs =
    backupsOf !== undefined ? [backupsOf] : backups === undefined ? ['webhook' as const] : PROGRAMS;
  let found: readonly BackupTrailer[];
  try {
    found = await backupsIn(folder);
  } catch (error) {
    const reason = `${folder} cannot be read: ${systemReason(error)}`;
    return [problem('backups', reason, 'name the folder of the backups with --backups')];
  }
  return programs.map((program) => {
    const times = found.filter((each) => each.program === program).map(({ madeAt }) => Date.parse(madeAt));
    return newestFinding(program, { folder, newestMs: Math.max(...times), maxHours: maxBackupAge });
  });
}

function newestFinding(
  program: BackupProgram,
  { folder, newestMs, maxHours }: { folder: string; newestMs: number; maxHours: number },
): Finding {
  const check = `backups of ${program}`;
  if (newestMs === -Infinity)
    return problem(
      check,
      `there is none in ${folder}`,
      `${HOW}; where they are elsewhere, name the other program with --backups-of`,
    );
  const hours = Math.floor((Date.now() - newestMs) / HOUR_MS);
  const age = hours < 1 ? 'less than an hour' : longTime(hours);
  const newest = `the newest one in ${folder} is ${age} old`;
  return hours < maxHours ? ok(check, newest) : problem(check, newest, HOW);
}

async function backupsOfProject(): Promise<string | undefined> {
  const folder = resolve('.');
  return (await projectIn(folder).catch(() => undefined)) === undefined ? undefined : join(folder, 'backups');
}

/** The backups of a folder and of the folders in it. */
async function backupsIn(folder: string): Promise<readonly BackupTrailer[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const inner = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
  const nested = await Promise.all(inner.map((each) => readdir(each, { withFileTypes: true })));
  const files = [entries, ...nested].flat().filter((entry) => entry.isFile() && !entry.name.startsWith('.'));
  const found: BackupTrailer[] = [];
  for (const { parentPath, name } of files) {
    const trailer = await trailerOf(join(parentPath, name));
    if (trailer !== undefined && !Number.isNaN(Date.parse(trailer.madeAt))) found.push(trailer);
  }
  return found;
}

async function trailerOf(path: string): Promise<BackupTrailer | undefined> {
  const { size } = await stat(path);
  const length = Math.min(size, MAX_BACKUP_TAIL_BYTES);
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return bytesRead === length ? readBackupTail(buffer, size)?.trailer : undefined;
  } finally {
    await file.close();
  }
}
