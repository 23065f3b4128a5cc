import { open, readdir, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import {
  type BackupProgram,
  ENCRYPTED_BACKUP_START,
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

interface FoundBackup {
  readonly program: BackupProgram;
  readonly madeAtMs: number;
}

/**
 * How old the newest backup of each program is, by what the files say of themselves; an encrypted one says neither, so that
 * its path and the time of the file do. The programs do not know: a backup is a file that somebody else keeps. Whether it opens,
 * only its keys can tell.
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
  let found: readonly FoundBackup[];
  try {
    found = await backupsIn(folder, backupsOf);
  } catch (error) {
    const reason = `${folder} cannot be read: ${systemReason(error)}`;
    return [problem('backups', reason, 'name the folder of the backups with --backups')];
  }
  return programs.map((program) => {
    const times = found.filter((each) => each.program === program).map(({ madeAtMs }) => madeAtMs);
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
async function backupsIn(folder: string, backupsOf?: BackupProgram): Promise<readonly FoundBackup[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const inner = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
  const nested = await Promise.all(inner.map((each) => readdir(each, { withFileTypes: true })));
  const files = [entries, ...nested]
    .flat()
    .filter((entry) => entry.isFile() && !/^\.|\.partial$/.test(entry.name));
  const found: FoundBackup[] = [];
  for (const { parentPath, name } of files) {
    const path = join(parentPath, name);
    const backup = await backupAt(path, backupsOf ?? programIn(relative(folder, path)));
    if (backup !== undefined && !Number.isNaN(backup.madeAtMs)) found.push(backup);
  }
  return found;
}

/** Of an encrypted backup, as the documented names have it. */
function programIn(path: string): BackupProgram {
  return path.includes('control-plane') ? 'control-plane' : 'webhook';
}

/** @param ofEncrypted the program of an encrypted backup, which itself does not say */
async function backupAt(path: string, ofEncrypted: BackupProgram): Promise<FoundBackup | undefined> {
  const { size, mtimeMs } = await stat(path);
  const file = await open(path, 'r');
  const read = async (length: number, position: number): Promise<Buffer | undefined> => {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, position);
    return bytesRead === length ? buffer : undefined;
  };
  try {
    const start = await read(ENCRYPTED_BACKUP_START.length, 0);
    if (start?.equals(ENCRYPTED_BACKUP_START)) return { program: ofEncrypted, madeAtMs: mtimeMs };
    const length = Math.min(size, MAX_BACKUP_TAIL_BYTES);
    const tail = await read(length, size - length);
    const trailer = tail === undefined ? undefined : readBackupTail(tail, size)?.trailer;
    return trailer && { program: trailer.program, madeAtMs: Date.parse(trailer.madeAt) };
  } finally {
    await file.close();
  }
}
