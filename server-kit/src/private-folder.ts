import { mkdirSync } from 'node:fs';

/**
 * Makes a folder that only this user can read, unless it exists.
 *
 * @param setting that names it, for the error
 */
export function makePrivateFolder(path: string, setting: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new Error(
      `${setting}: the folder ${path} cannot be made (${code}): make it, owned by the user that runs this program`,
      { cause: error },
    );
  }
}
