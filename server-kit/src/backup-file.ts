import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { constantTimeEqual, fromBase64url, toBase64url, utf8 } from '@svault/shared';
import {
  BACKUP_LENGTH_BYTES,
  BACKUP_MAC_BYTES,
  BACKUP_MAGIC,
  type BackupProgram,
  type BackupTrailer,
  MAX_BACKUP_TAIL_BYTES,
  readBackupTail,
} from '@svault/shared/backup-trailer';
import { decryptFile, isEncrypted } from './backup-encryption.ts';
import { BackupRefused } from './backup-refused.ts';
import { chunksOf, readAt } from './file-chunks.ts';

/*
 * A backup is the bytes of a SQLite file and a trailer that authenticates all of them:
 *
 *   SQLite bytes ‖ trailer (JSON) ‖ its length (4 bytes) ‖ HMAC-SHA256 over all before (32 bytes) ‖ MAGIC
 *
 * The MAC key is HKDF-SHA256 of the root key, with the trailer's random salt and a label that names the program.
 */

const CHECK_BYTES = 16;
const SALT_BYTES = 32;

export interface BackupSeal {
  readonly program: BackupProgram;
  /** The key that the copy opens with, 32 bytes. */
  readonly masterKey: Uint8Array;
  /** RFC 3339. */
  readonly madeAt: string;
  /** How the key is derived from a passphrase, if it is. */
  readonly derivation?: object | undefined;
}

/** Appends the trailer to a finished SQLite file, in pieces of 1 MiB, and authenticates what it then reads back. */
export async function sealBackup(
  file: string,
  { program, masterKey, madeAt, derivation }: BackupSeal,
): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    const { size: bytes } = await handle.stat();
    const salt = randomBytes(SALT_BYTES);
    const { macKey, check } = backupKeys(masterKey, salt, program);
    const trailer: BackupTrailer = {
      program,
      madeAt,
      bytes,
      salt: toBase64url(salt),
      check: toBase64url(check),
      ...(derivation !== undefined && { derivation }),
    };
    const text = utf8(JSON.stringify(trailer));
    const length = Buffer.alloc(BACKUP_LENGTH_BYTES);
    length.writeUInt32BE(text.length);
    const authenticated = Buffer.concat([text, length]);
    const mac = await macOf(handle, { bytes, authenticated, macKey });
    await handle.write(Buffer.concat([authenticated, mac, BACKUP_MAGIC]), 0, undefined, bytes);
    await handle.sync();
    const end = await readEnd(handle, file);
    if (!constantTimeEqual(await macOf(handle, { bytes, authenticated: end.authenticated, macKey }), end.mac))
      throw new Error(`${file} does not read back as it was written: is the disk well?`);
  } finally {
    await handle.close();
  }
}

/**
 * Copies the SQLite bytes of a backup to a new file of mode 0600 and checks the MAC over the very bytes it wrote, in
 * pieces of 1 MiB.
 * @param options.masterKeys candidates, 32 bytes each; asked for before the MAC is known to hold, so a derivation in the
 *   trailer is still anybody's
 * @param options.identityFile of age, for an encrypted backup
 * @param options.whereToGiveKey such as `as SV_MASTER_KEY`, for messages
 * @throws BackupRefused for a file that is no backup of this program under one of these keys, byte for byte; `target` is
 *   gone then
 */
export async function openBackup(
  file: string,
  target: string,
  options: {
    readonly program: BackupProgram;
    readonly masterKeys: (trailer: BackupTrailer) => Promise<readonly Uint8Array[]>;
    readonly identityFile?: string | undefined;
    readonly whereToGiveKey: string;
  },
): Promise<BackupTrailer> {
  const { program, masterKeys, whereToGiveKey } = options;
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) throw new BackupRefused(`${file} does not exist`);
  if (!found.isFile()) throw new BackupRefused(`${file} is no regular file`);
  const decrypted = `${target}.decrypted`;
  const source = await openDecrypted(file, decrypted, options.identityFile);
  try {
    const end = await readEnd(source, file);
    const { trailer } = end;
    if (trailer.program !== program)
      throw new BackupRefused(`${file} is a backup of the ${trailer.program}, not of the ${program}`);
    const salt = fromBase64url(trailer.salt) ?? new Uint8Array();
    const check = fromBase64url(trailer.check) ?? new Uint8Array();
    const macKey = (await masterKeys(trailer))
      .map((key) => backupKeys(key, salt, program))
      .find((keys) => constantTimeEqual(keys.check, check))?.macKey;
    if (macKey === undefined)
      throw new BackupRefused(
        `the root key does not open this backup: ${file} was made at ${trailer.madeAt} under another one, or its ` +
          `last bytes were changed. Give the key of that time ${whereToGiveKey}`,
      );
    await copyChecked(source, { file, target, end, macKey });
    return trailer;
  } finally {
    await source.close();
    await rm(decrypted, { force: true });
  }
}

/** @returns the backup, or what was decrypted of it to another file */
async function openDecrypted(file: string, decrypted: string, identityFile?: string): Promise<FileHandle> {
  const source = await open(file, 'r');
  try {
    if (!(await isEncrypted(source))) return source;
    if (identityFile === undefined)
      throw new BackupRefused(`${file} is encrypted: name the file of the age identity after it`);
    await rm(decrypted, { force: true });
    await decryptFile({ source, file }, decrypted, identityFile);
  } catch (error) {
    await source.close();
    await rm(decrypted, { force: true });
    throw error;
  }
  await source.close();
  return open(decrypted, 'r');
}

interface End {
  readonly trailer: BackupTrailer;
  /** Trailer and length, as they are authenticated. */
  readonly authenticated: Uint8Array;
  readonly mac: Uint8Array;
}

async function copyChecked(
  source: FileHandle,
  parts: { readonly file: string; readonly target: string; readonly end: End; readonly macKey: Uint8Array },
): Promise<void> {
  const { file, target, end, macKey } = parts;
  await rm(target, { force: true });
  const copy = await open(target, 'wx', 0o600);
  try {
    const { authenticated, trailer } = end;
    const write = (chunk: Buffer): Promise<void> => copy.writeFile(chunk);
    const mac = await macOf(source, { bytes: trailer.bytes, authenticated, macKey }, write);
    if (!constantTimeEqual(mac, end.mac))
      throw new BackupRefused(`${file} was changed since the backup was made; nothing was restored`);
    await copy.sync();
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  } finally {
    await copy.close();
  }
}

/** @param onChunk gets the very bytes that the MAC is over */
async function macOf(
  source: FileHandle,
  of: { readonly bytes: number; readonly authenticated: Uint8Array; readonly macKey: Uint8Array },
  onChunk?: (chunk: Buffer) => Promise<void>,
): Promise<Buffer> {
  const hmac = createHmac('sha256', of.macKey);
  for await (const chunk of chunksOf(source, of.bytes)) {
    hmac.update(chunk);
    await onChunk?.(chunk);
  }
  return hmac.update(of.authenticated).digest();
}

async function readEnd(source: FileHandle, file: string): Promise<End> {
  const notOne = (): BackupRefused =>
    new BackupRefused(
      `${file} is no whole backup: it was cut or extended, or \`backup\` did not write it (a copy of the database is none)`,
    );
  const { size } = await source.stat();
  const length = Math.min(size, MAX_BACKUP_TAIL_BYTES);
  const tail = await readAt(source, size - length, length);
  const found = readBackupTail(tail, size);
  if (found === undefined) throw notOne();
  const { trailer, textAt } = found;
  const macEnd = tail.length - BACKUP_MAGIC.length;
  return {
    trailer,
    authenticated: tail.subarray(textAt, macEnd - BACKUP_MAC_BYTES),
    mac: tail.subarray(macEnd - BACKUP_MAC_BYTES, macEnd),
  };
}

function backupKeys(
  masterKey: Uint8Array,
  salt: Uint8Array,
  program: BackupProgram,
): { readonly macKey: Uint8Array; readonly check: Uint8Array } {
  const label = `svault backup v1 ${program}`;
  const bytes = Buffer.from(hkdfSync('sha256', masterKey, salt, label, BACKUP_MAC_BYTES + CHECK_BYTES));
  return { macKey: bytes.subarray(0, BACKUP_MAC_BYTES), check: bytes.subarray(BACKUP_MAC_BYTES) };
}
