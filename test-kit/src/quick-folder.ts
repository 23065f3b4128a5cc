import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const PREFIX = 'svault-tests-';
const MEMORY = '/dev/shm';
/** Several times what a whole run ever holds at once. */
const ROOM_BYTES = 6 * 1024 ** 3;

/**
 * Where the files of a run are quickest to make and to sync: in memory, where there is plenty of it and programs may be
 * started from there, and else where temporary files are. What has to be seen on a disk is among the slow tests.
 *
 * @returns a folder that is gone once this process ends; the one that temporary files go to, where it is such a folder already
 */
export function quickFolder(): string {
  if (basename(tmpdir()).startsWith(PREFIX)) return tmpdir();
  const path = mkdtempSync(join(hasRoom() ? MEMORY : tmpdir(), PREFIX));
  // The databases of root's tests belong to another user, who needs access.
  chmodSync(path, 0o711);
  process.on('exit', () => rmSync(path, { recursive: true, force: true }));
  return path;
}

function hasRoom(): boolean {
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const [, , , options = ''] = mounts.find((line) => line.split(' ')[1] === MEMORY)?.split(' ') ?? [];
    const { bavail, bsize } = statfsSync(MEMORY);
    const room = Math.min(bavail * bsize, process.availableMemory());
    return options !== '' && !options.split(',').includes('noexec') && room >= ROOM_BYTES;
  } catch {
    return false;
  }
}
