import { mkdir, stat } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { geteuid } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, failed, usage } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { systemCode, systemReason } from '../system-reason.ts';

const WRITABLE_BY_OTHERS = 0o022;
const CHOOSE_ANOTHER = 'set SVAULT_CONFIG_DIR to a folder of yours';

/**
 * Where this user's logins are: SVAULT_CONFIG_DIR, else a folder of the platform's (`~/.config/svault` on Linux,
 * `~/Library/Preferences/svault` on macOS). It may not be there yet.
 * @throws Failure usage where that is no whole path
 */
export async function configFolder({ env }: Pick<Invocation, 'env'>): Promise<string> {
  const { SVAULT_CONFIG_DIR: chosen } = env;
  if (chosen !== undefined && chosen !== '') return resolve(chosen);
  const { default: paths } = await import('env-paths');
  const { config } = paths('svault', { suffix: '' });
  // Else a command would leave secrets in its working directory, and would trust those that another user put there.
  if (isAbsolute(config)) return config;
  throw usage(
    `HOME or XDG_CONFIG_HOME says that logins are at ${config}, wherever you are: give them a whole path, or set SVAULT_CONFIG_DIR`,
  );
}

/**
 * Whoever may write into the folder can put a file of theirs in the place of one of ours.
 * @returns false where there is no folder
 * @throws Failure
 */
export async function checkFolder(path: string): Promise<boolean> {
  try {
    const { uid, mode } = await stat(path);
    if (uid !== (geteuid?.() ?? uid)) throw failed(`${path} belongs to another user: ${CHOOSE_ANOTHER}`);
    if ((mode & WRITABLE_BY_OTHERS) !== 0) throw failed(`others may write into ${path}: chmod 700 ${path}`);
    return true;
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (systemCode(error) === 'ENOENT') return false;
    throw failed(`${path} cannot be read: ${systemReason(error)}; ${CHOOSE_ANOTHER}`, error);
  }
}

/** Makes it, for this user alone, where it is not there yet. @throws Failure */
export async function makeFolder(path: string): Promise<void> {
  if (await checkFolder(path)) return;
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw failed(`${path} cannot be created: ${systemReason(error)}; ${CHOOSE_ANOTHER}`, error);
  }
}

/** A lock of a process that ended without releasing it is stale after this; a running process renews its lock. */
const STALE_AFTER_MS = 10_000;
/** Longer than a control plane is waited for. */
const TIMEOUT_MS = 90_000;
const PAUSE_MS = 40;

/**
 * Runs an action that no other process of this user runs meanwhile.
 * @param options.folder that is there
 * @param options.name of the lock
 * @throws Failure where the folder cannot be written, or another process holds the lock for too long
 */
export async function whileLocked<T>(
  { folder, name, signal }: { readonly folder: string; readonly name: string; readonly signal: AbortSignal },
  action: () => Promise<T>,
): Promise<T> {
  const release = await acquire(folder, name, signal);
  try {
    return await action();
  } finally {
    // Somebody took it over while this process stood still; what was written by then is whole all the same.
    await release().catch(() => undefined);
  }
}

async function acquire(folder: string, name: string, signal: AbortSignal): Promise<() => Promise<void>> {
  const { lock } = await import('proper-lockfile');
  const lockfilePath = join(folder, `.${name}.lock`);
  const options = { realpath: false, lockfilePath, stale: STALE_AFTER_MS, onCompromised: () => undefined };
  for (const until = Date.now() + TIMEOUT_MS; ;) {
    try {
      return await lock(join(folder, name), options);
    } catch (error) {
      if (systemCode(error) !== 'ELOCKED')
        throw failed(`${folder} cannot be written: ${systemReason(error)}`, error);
      if (Date.now() > until)
        throw failed(`another svault is still writing (${lockfilePath}); try again when it has ended`);
    }
    await sleep(PAUSE_MS * (0.5 + Math.random()), undefined, { signal });
  }
}
