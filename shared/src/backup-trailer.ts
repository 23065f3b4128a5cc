/*
 * How a backup file ends: SQLite bytes ‖ trailer (JSON) ‖ its length (4 bytes) ‖ MAC (32 bytes) ‖ magic. What the MAC covers and
 * how its key is made is in server-kit/src/backup-file.ts.
 */
import { utf8 } from './bytes.ts';

export const BACKUP_MAGIC = utf8('svault-backup-1\n');
/** How a backup begins that is encrypted to recipients of age. */
export const ENCRYPTED_BACKUP_START = utf8('age-encryption.org/v1\n');
export const BACKUP_LENGTH_BYTES = 4;
export const BACKUP_MAC_BYTES = 32;
/** As many of a file's last bytes have the whole trailer. */
export const MAX_BACKUP_TAIL_BYTES = 4_096;

/** The programs whose backups this format holds. */
export type BackupProgram = 'control-plane' | 'webhook';

/** What a backup says about itself. It counts only once its MAC holds. */
export interface BackupTrailer {
  readonly program: BackupProgram;
  /** As the program's clock had it, RFC 3339. */
  readonly madeAt: string;
  /** Of the SQLite file. */
  readonly bytes: number;
  readonly salt: string;
  /** Tells another root key from a changed file. */
  readonly check: string;
  /** How the root key comes from a passphrase; the program that restores checks its form. */
  readonly derivation?: unknown;
}

/**
 * Reads the end of a file without checking its MAC.
 *
 * @param tail its last bytes, {@link MAX_BACKUP_TAIL_BYTES} or all of a shorter one
 * @param size of the file
 * @returns the trailer, and where it begins in `tail`; undefined for a file that is no whole backup
 */
export function readBackupTail(
  tail: Buffer,
  size: number,
): { readonly trailer: BackupTrailer; readonly textAt: number } | undefined {
  const macEnd = tail.length - BACKUP_MAGIC.length;
  const lengthAt = macEnd - BACKUP_MAC_BYTES - BACKUP_LENGTH_BYTES;
  if (lengthAt < 0 || !tail.subarray(macEnd).equals(BACKUP_MAGIC)) return undefined;
  const textAt = lengthAt - tail.readUInt32BE(lengthAt);
  if (textAt < 0) return undefined;
  const trailer = parseTrailer(tail.toString('utf8', textAt, lengthAt));
  return trailer?.bytes === size - (tail.length - textAt) ? { trailer, textAt } : undefined;
}

function parseTrailer(text: string): BackupTrailer | undefined {
  let value: Partial<Record<keyof BackupTrailer, unknown>> | null;
  try {
    value = JSON.parse(text) as typeof value;
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { program, madeAt, bytes, salt, check, derivation } = value;
  if (program !== 'control-plane' && program !== 'webhook') return undefined;
  if (typeof madeAt !== 'string' || typeof salt !== 'string' || typeof check !== 'string') return undefined;
  if (typeof bytes !== 'number' || !/^[\d:.TZ-]{20,30}$/.test(madeAt)) return undefined;
  return { program, madeAt, bytes, salt, check, ...(derivation !== undefined && { derivation }) };
}
