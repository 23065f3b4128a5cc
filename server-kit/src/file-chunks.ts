import type { FileHandle } from 'node:fs/promises';
import { BackupRefused } from './backup-refused.ts';

const CHUNK_BYTES = 1024 * 1024;

/** The first bytes of a file in pieces of 1 MiB. @throws BackupRefused where the file ends before */
export async function* chunksOf(handle: FileHandle, bytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes; at += CHUNK_BYTES)
    yield await readAt(handle, at, Math.min(CHUNK_BYTES, bytes - at));
}

/** @throws BackupRefused where the file ends before */
export async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let read = 0;
  while (read < length) {
    const { bytesRead } = await handle.read(buffer, read, length - read, position + read);
    if (bytesRead === 0) throw new BackupRefused('the file became shorter while it was read');
    read += bytesRead;
  }
  return buffer;
}
