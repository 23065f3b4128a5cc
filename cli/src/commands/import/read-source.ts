import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { geteuid } from 'node:process';
import { systemCode, systemReason } from '../../system-reason.ts';

/** `~/.claude.json` has a history in it; credentials are in much smaller files. */
const MAX_BYTES = 4 * 1024 * 1024;
const READABLE_BY_OTHERS = 0o044;

/** A file as it was read. */
export interface ReadSource {
  readonly bytes: Buffer;
  /** Without the mark that some editors put before the first character. */
  readonly text: string;
  readonly isOfAnother: boolean;
  readonly isOpenToOthers: boolean;
}

/** Why a file was not read, for a person: it completes “FILE …”. */
export class NotRead extends Error {
  override readonly name = 'NotRead';
}

/**
 * Reads a file of text. It never waits, and follows no symbolic link at the end of the path: in a folder from elsewhere that could
 * lead to any file of the user.
 * @returns undefined where there is none
 * @throws NotRead
 */
export async function readSource(path: string): Promise<ReadSource | undefined> {
  try {
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    await using file = await open(path, flags);
    return await contentOf(file);
  } catch (error) {
    if (error instanceof NotRead) throw error;
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (code === 'ELOOP') throw new NotRead('is a symbolic link: name its target with --from');
    // A socket, or a device without a driver.
    if (code === 'ENXIO' || code === 'ENODEV') throw new NotRead('is no file');
    throw new NotRead(`cannot be read: ${systemReason(error)}`);
  }
}

async function contentOf(file: FileHandle): Promise<ReadSource> {
  const found = await file.stat();
  if (!found.isFile()) throw new NotRead('is no file');
  if (found.size > MAX_BYTES) throw new NotRead('is larger than 4 MiB');
  const { buffer, bytesRead } = await file.read(Buffer.alloc(found.size + 1), 0, found.size + 1, 0);
  if (bytesRead > found.size) throw new NotRead('grew while it was read');
  const bytes = buffer.subarray(0, bytesRead);
  return {
    bytes,
    text: textIn(bytes),
    isOfAnother: found.uid !== (geteuid?.() ?? found.uid),
    isOpenToOthers: (found.mode & READABLE_BY_OTHERS) !== 0,
  };
}

function textIn(bytes: Buffer): string {
  if (bytes.includes(0)) throw new NotRead('is no text');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new NotRead('is no text in UTF-8');
  }
}
