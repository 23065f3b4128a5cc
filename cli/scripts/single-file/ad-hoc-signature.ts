import { createHash } from 'node:crypto';
import { announceSignature, readMachO, segmentOf } from './mach-o.ts';

/**
 * Apple's <kern/cs_blobs.h>; numbers in a signature are big endian. The signature is the one that Apple's linker makes: a
 * directory of the hashes of all pages and nothing else, without a certificate ("ad hoc"). macOS on Apple's processors runs no
 * code without at least that; on Intel it does, and checks it where it is there.
 */
const MAGIC = { embedded: 0xfade0cc0, directory: 0xfade0c02 } as const;
const DIRECTORY_SLOT = 0;
const DIRECTORY_VERSION = 0x20400;
const FLAGS = { adHoc: 0x2, linkerSigned: 0x20000 } as const;
const SHA256 = { type: 2, bytes: 32 } as const;
const PAGE_BYTES_LOG2 = 12;
const PAGE_BYTES = 2 ** PAGE_BYTES_LOG2;
const MAIN_BINARY = 1n;
const SUPER_BLOB_BYTES = 20;
const DIRECTORY_BYTES = 88;

/**
 * Signs an executable of one architecture that has no signature.
 * @param identifier what the code is called, such as `svault`
 * @throws Error where it has one, or is no such executable
 */
export function signAdHoc(file: Buffer, identifier: string): Buffer {
  const name = Buffer.from(`${identifier}\0`);
  const hashesAt = DIRECTORY_BYTES + name.length;
  const directoryBytes = (codeBytes: number): number =>
    hashesAt + Math.ceil(codeBytes / PAGE_BYTES) * SHA256.bytes;
  const signed = announceSignature(file, (offset) => SUPER_BLOB_BYTES + directoryBytes(offset));
  const executable = readMachO(signed);
  const codeBytes = executable.signature?.offset ?? 0;
  const text = segmentOf(executable, '__TEXT');

  const blob = signed.subarray(codeBytes);
  writeWords(blob, 0, [
    MAGIC.embedded,
    SUPER_BLOB_BYTES + directoryBytes(codeBytes),
    1,
    DIRECTORY_SLOT,
    SUPER_BLOB_BYTES,
  ]);
  const directory = blob.subarray(SUPER_BLOB_BYTES, SUPER_BLOB_BYTES + directoryBytes(codeBytes));
  writeWords(directory, 0, [
    MAGIC.directory,
    directory.length,
    DIRECTORY_VERSION,
    FLAGS.adHoc | FLAGS.linkerSigned,
    hashesAt,
    DIRECTORY_BYTES, // where the name is
    0, // special slots
    Math.ceil(codeBytes / PAGE_BYTES),
    codeBytes,
  ]);
  directory.set([SHA256.bytes, SHA256.type, 0, PAGE_BYTES_LOG2], 36);
  directory.writeBigUInt64BE(BigInt(text.fileOffset), 64);
  directory.writeBigUInt64BE(BigInt(text.fileBytes), 72);
  directory.writeBigUInt64BE(MAIN_BINARY, 80);
  name.copy(directory, DIRECTORY_BYTES);
  pageHashes(signed.subarray(0, codeBytes)).forEach((hash, index) =>
    hash.copy(directory, hashesAt + index * SHA256.bytes),
  );
  return signed;
}

function writeWords(into: Buffer, at: number, words: readonly number[]): void {
  words.forEach((word, index) => into.writeUInt32BE(word, at + index * 4));
}

const pageHashes = (code: Buffer): Buffer[] =>
  Array.from({ length: Math.ceil(code.length / PAGE_BYTES) }, (_, index) =>
    createHash('sha256')
      .update(code.subarray(index * PAGE_BYTES, (index + 1) * PAGE_BYTES))
      .digest(),
  );
