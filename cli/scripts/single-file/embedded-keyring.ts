/**
 * What the single file has in place of `@napi-rs/keyring`: its native addon is an asset in the executable. The system loads code
 * from files only, so it is written to a folder of this user alone first, and compared with the asset before every use.
 */
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { getRawAsset } from 'node:sea';
import type * as keyring from '@napi-rs/keyring';
import { privateCacheFolder } from '../../src/private-cache-folder.ts';

type Keyring = typeof keyring;

/** As build.ts names the asset. */
const KEYRING_ASSET = 'keyring.node';

export const { AsyncEntry } = load();

function load(): Keyring {
  const folder = privateCacheFolder(process.env, 'keyring');
  if (folder === undefined)
    throw new Error('there is no folder of yours alone to unpack the keychain’s code to');
  const wanted = Buffer.from(getRawAsset(KEYRING_ASSET));
  const file = join(folder, KEYRING_ASSET);
  if (!holds(file, wanted)) write(folder, file, wanted);
  const loaded: { exports: unknown } = { exports: {} };
  process.dlopen(loaded, file, constants.dlopen.RTLD_NOW);
  return loaded.exports as Keyring;
}

function holds(file: string, wanted: Buffer): boolean {
  try {
    return readFileSync(file).equals(wanted);
  } catch {
    return false;
  }
}

/** Another process may load it at this moment: a new file takes the old one's place, and nothing is written into that. */
function write(folder: string, file: string, bytes: Buffer): void {
  const work = mkdtempSync(join(folder, '.new-'));
  try {
    writeFileSync(join(work, KEYRING_ASSET), bytes, { mode: 0o600 });
    renameSync(join(work, KEYRING_ASSET), file);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
