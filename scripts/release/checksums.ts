import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join, relative } from 'node:path';

/** SHA-256 in hexadecimal. */
export const sha256Of = (content: Buffer | string): string =>
  createHash('sha256').update(content).digest('hex');

/**
 * All files below a folder, in the format of `sha256sum`, sorted by path; a link counts by its target.
 * @returns path, relative to the folder → digest
 */
export function checksumsOf(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => ({ entry, whole: join(entry.parentPath, entry.name) }))
    .map(({ entry, whole }): [string, string] => [
      relative(folder, whole),
      sha256Of(entry.isSymbolicLink() ? `link to ${readlinkSync(whole)}` : readFileSync(whole)),
    ]);
  return new Map(files.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** As `sha256sum --check` reads it. */
export const checksumLines = (checksums: ReadonlyMap<string, string>): string =>
  [...checksums].map(([path, digest]) => `${digest}  ${path}\n`).join('');

/** The paths that two builds do not have in common, or not with the same content. */
export function differences(
  one: ReadonlyMap<string, string>,
  other: ReadonlyMap<string, string>,
): readonly string[] {
  const paths = new Set([...one.keys(), ...other.keys()]);
  return [...paths].filter((path) => one.get(path) !== other.get(path)).toSorted();
}
