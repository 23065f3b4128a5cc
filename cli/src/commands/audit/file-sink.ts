import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { failed } from '../../failure.ts';
import { systemReason } from '../../system-reason.ts';

const LINE_FEED = 0x0a;
const BLOCK_BYTES = 64 * 1024;

/**
 * Appends to a file, which is made for this user alone. A line that a killed process left without an end is removed first: what
 * is written next would make it unreadable.
 * @throws Failure where it cannot be written
 */
export async function fileSink(path: string) {
  const atPath = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw failed(`${path} cannot be written: ${systemReason(error)}`, error);
    }
  };
  const file = await atPath(open(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, 0o600));
  await atPath(file.stat().then((found) => (found.isFile() ? endAtLine(file, found.size) : undefined)));
  return {
    /** Resolves when the text is on the disk. */
    write: (text: string): Promise<void> => atPath(file.appendFile(text).then(() => file.datasync())),
    [Symbol.asyncDispose]: () => file.close(),
  };
}

async function endAtLine(file: FileHandle, size: number): Promise<void> {
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - BLOCK_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
    const lineEnd = buffer.subarray(0, bytesRead).lastIndexOf(LINE_FEED);
    if (lineEnd !== -1) return start + lineEnd + 1 < size ? file.truncate(start + lineEnd + 1) : undefined;
    end = start;
  }
  await file.truncate(0);
}
