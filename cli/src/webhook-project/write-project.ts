import { randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Failure, failed, usage } from '../failure.ts';
import { systemReason } from '../system-reason.ts';
import { mustNotBeOfOthers } from './project-folder.ts';
import type { ProjectFile, SecretFile } from '@svault/compose/webhook-project/project-file';

export interface WholeProject {
  readonly folder: string;
  readonly files: readonly ProjectFile[];
  readonly secrets: readonly SecretFile[];
  /** For their owner alone. */
  readonly privateFolders: readonly string[];
  /** To whom the secrets are given, where the writer may do so; undefined: they stay the writer's. */
  readonly giveTo: { readonly uid: number; readonly gid: number } | undefined;
}

interface Staged {
  readonly path: string;
  readonly temporary: string;
  readonly replaces: boolean;
}

/**
 * Writes a project: all of it, or nothing. First each file is written under a temporary name; then it is moved into
 * place in one step. A secret that is there is never replaced.
 * @param options.replacing whether files that are there may be replaced
 * @param options.signal ends it, as a failure does
 * @throws Failure
 */
export async function writeProject(
  { folder, files, secrets, privateFolders, giveTo }: WholeProject,
  { replacing, signal: stop }: { readonly replacing: boolean; readonly signal: AbortSignal },
): Promise<void> {
  const undo: (() => Promise<unknown>)[] = [];
  const makeFolder = async (path: string, mode: number): Promise<void> => {
    const first = await mkdir(path, { recursive: true, mode });
    if (first === undefined) return;
    undo.push(() => removeFolders(path, first));
    await chmod(path, mode);
  };
  const stage = async (path: string, text: string, mode: number): Promise<string> => {
    stop.throwIfAborted();
    const temporary = join(dirname(join(folder, path)), `.svault-${randomBytes(8).toString('hex')}.tmp`);
    undo.push(() => rm(temporary, { force: true }));
    await writeFile(temporary, text, { flag: 'wx', mode, flush: true });
    // Whatever the umask took away: another user may run the containers.
    await chmod(temporary, mode);
    return temporary;
  };
  try {
    await makeFolder(folder, 0o700);
    const about = await stat(folder);
    if (!about.isDirectory()) throw usage(`${folder} is not a folder`);
    mustNotBeOfOthers(folder, about);
    for (const name of privateFolders) await makePrivateFolder(join(folder, name), giveTo, makeFolder);
    const staged: Staged[] = [];
    for (const { path, secret } of secrets) {
      const temporary = await stage(path, secret, 0o600);
      if (giveTo !== undefined) await chown(temporary, giveTo.uid, giveTo.gid);
      staged.push({ path: join(folder, path), temporary, replaces: false });
    }
    for (const { path, text } of files) {
      await makeFolder(dirname(join(folder, path)), 0o755);
      staged.push({
        path: join(folder, path),
        temporary: await stage(path, text, 0o644),
        replaces: replacing,
      });
    }
    stop.throwIfAborted();
    for (const { path, temporary, replaces } of staged) {
      if (replaces) {
        await rename(temporary, path);
        continue;
      }
      // Unlike rename, link fails where something is by now.
      await link(temporary, path);
      undo.push(() => unlink(path));
      await unlink(temporary);
    }
  } catch (error) {
    for (const each of undo.reverse()) await each().catch(() => undefined);
    if (error instanceof Failure || stop.aborted) throw error;
    throw failed(`nothing was written to ${folder}: ${systemReason(error)}`, error);
  }
}

async function makePrivateFolder(
  path: string,
  giveTo: WholeProject['giveTo'],
  make: (path: string, mode: number) => Promise<void>,
): Promise<void> {
  await make(path, 0o700);
  const about = await lstat(path);
  if (!about.isDirectory()) throw usage(`${path} is not a folder, or is a link to one; nothing was written`);
  if ((about.mode & 0o077) !== 0)
    throw usage(`others may look into ${path}: chmod 700 ${path}; nothing was written`);
  if (giveTo === undefined) return;
  await chown(path, giveTo.uid, giveTo.gid);
  await chmod(path, 0o700);
}

/** Those from `last` up to `first`, which `mkdir` made, as far as they are empty. */
async function removeFolders(last: string, first: string): Promise<void> {
  for (let path = last; ; path = dirname(path)) {
    await rmdir(path);
    if (path === first) return;
  }
}
