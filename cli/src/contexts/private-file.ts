import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { geteuid } from 'node:process';
import type * as z from 'zod';
import { Failure, failed } from '../failure.ts';
import { jsonIn } from '../json-in.ts';
import { systemCode, systemReason } from '../system-reason.ts';
import { checkFolder } from './config-folder.ts';

/** A thousand logins are less. */
const MAX_BYTES = 1024 * 1024;
const PRIVATE_MODE = 0o600;
const OTHERS = 0o077;

/**
 * Reads a file that only this user may read and write.
 * @returns undefined where there is none
 * @throws Failure for a file that others may read or write, that another user owns, that is too large, or that is no file
 */
async function readPrivateFile(path: string): Promise<string | undefined> {
  if (!(await checkFolder(dirname(path)))) return undefined;
  try {
    // Opened first and looked at then, so that nothing can take its place in between; a pipe does not make it wait.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    await using file = await open(path, flags);
    await checkPrivate(file, path);
    return await file.readFile('utf8');
  } catch (error) {
    if (error instanceof Failure) throw error;
    const code = systemCode(error);
    if (code === 'ENOENT') return undefined;
    if (code === 'ELOOP')
      throw failed(`${path} is a symbolic link: put the file itself there, or delete the link`);
    throw failed(`${path} cannot be read: ${systemReason(error)}`, error);
  }
}

async function checkPrivate(file: FileHandle, path: string): Promise<void> {
  const refused = (message: string): never => {
    throw failed(`${path} ${message}`);
  };
  const found = await file.stat();
  if (!found.isFile()) refused('is not a file: move it away');
  if (found.uid !== (geteuid?.() ?? found.uid))
    refused('belongs to another user: delete it, or chown it to you');
  const mode = (found.mode & 0o777).toString(8);
  if ((found.mode & OTHERS) !== 0)
    refused(
      `is open to other users (mode ${mode}): chmod 600 ${path}, and if others were there, sign in again`,
    );
  if (found.size > MAX_BYTES) refused('is larger than svault ever writes it: delete it, and sign in again');
}

const SPARE_BYTES = 4 * 1024;

/**
 * Finds out whether a file could be written now, a little longer than it is.
 * @throws Failure where it could not, such as on a disk that is full
 */
export async function rehearsePrivateFile(path: string): Promise<void> {
  const rehearsed = besides(path);
  try {
    const { size } = await stat(path);
    await writeFile(rehearsed, Buffer.alloc(size + SPARE_BYTES), { flag: 'wx', mode: PRIVATE_MODE });
  } catch (error) {
    throw cannotBeWritten(path, error);
  } finally {
    await rm(rehearsed, { force: true }).catch(() => undefined);
  }
}

/**
 * Writes a file for this user alone, whole or not at all, whenever the power fails.
 * @param check runs right before it takes the place of another one, and stops it by a Failure
 * @throws Failure where it cannot be written
 */
export async function writePrivateFile(
  path: string,
  text: string,
  check: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const folder = dirname(path);
  const next = besides(path);
  try {
    {
      await using file = await open(next, 'wx', PRIVATE_MODE);
      await file.writeFile(text);
      await file.sync();
    }
    await check();
    await rename(next, path);
    await using opened = await open(folder, 'r');
    await opened.sync();
    await removeLeftovers(path);
  } catch (error) {
    await rm(next, { force: true }).catch(() => undefined);
    throw error instanceof Failure ? error : cannotBeWritten(path, error);
  }
}

/** The temporary file that is written first and then replaces another. */
const besides = (path: string): string =>
  join(dirname(path), `.${basename(path)}.${randomBytes(8).toString('hex')}`);
const BESIDES = /^\.[0-9a-f]{16}$/;

/** Longer than anything takes to be written. */
const LEFT_OVER_AFTER_MS = 60_000;

/** A killed process leaves secrets there that no command would remove. */
async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  const start = `.${basename(path)}`;
  for (const name of await readdir(folder)) {
    if (!name.startsWith(start) || !BESIDES.test(name.slice(start.length))) continue;
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > LEFT_OVER_AFTER_MS)
      await rm(join(folder, name), { force: true }).catch(() => undefined);
  }
}

const cannotBeWritten = (path: string, error: unknown): Failure =>
  failed(`${path} cannot be written: ${systemReason(error)}`, error);

const VERSION = 1;

/** A JSON file of this user's, with a version. @param schema without the version */
export function keptDocument<T extends object>(path: string, schema: z.ZodType<T>) {
  const damaged = (): Failure => failed(`${path} is damaged: repair it, or delete it and sign in again`);
  return {
    path,
    read: async (): Promise<T | undefined> => {
      const text = await readPrivateFile(path);
      if (text === undefined) return undefined;
      const document = jsonIn(text);
      if (typeof document !== 'object' || document === null || !('version' in document)) throw damaged();
      if (typeof document.version === 'number' && document.version > VERSION)
        throw failed(`${path} was written by a newer svault: use that one, or another SVAULT_CONFIG_DIR`);
      const parsed = schema.safeParse(document);
      if (document.version !== VERSION || !parsed.success) throw damaged();
      return parsed.data;
    },
    write: (document: T): Promise<void> =>
      writePrivateFile(path, `${JSON.stringify({ version: VERSION, ...document }, null, 2)}\n`),
  };
}
