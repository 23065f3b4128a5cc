import { open } from 'node:fs/promises';
import { type Readable, addAbortSignal } from 'node:stream';
import { Failure, usage } from '../failure.ts';
import { systemReason } from '../system-reason.ts';

/** Reads a file, or a pipe that a shell passes as one. @throws Failure usage where it cannot be read or holds more */
export async function readFileBounded(path: string, maxBytes: number): Promise<Uint8Array> {
  try {
    await using file = await open(path, 'r');
    return await collect(file.createReadStream({ autoClose: false }), maxBytes);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure('usage', `${path} cannot be read: ${systemReason(error)}`, { cause: error });
  }
}

/** Reads a stream to its end; Ctrl-C ends that. @throws Failure usage where it holds more */
export async function readStreamBounded(
  stream: Readable,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return collect(addAbortSignal(signal, stream), maxBytes);
}

async function collect(stream: AsyncIterable<Uint8Array | string>, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > maxBytes)
      throw usage(`that is more than ${Math.floor(maxBytes / 1_024)} KiB, which is more than may be here`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
