import { type Hash, createHash } from 'node:crypto';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { ReadableStream } from 'node:stream/web';
import { ENCRYPTED_BACKUP_START } from '@svault/shared/backup-trailer';
import type { Encrypter } from 'age-encryption';
import { BackupRefused } from './backup-refused.ts';
import { chunksOf } from './file-chunks.ts';

/*
 * Backups for recipients of age (https://age-encryption.org/v1): ordinary files of that format, which `age -d` opens. age-encryption is
 * loaded when the first one is made or opened.
 */

/** Whether a file begins as one that age encrypted. */
export async function isEncrypted(source: FileHandle): Promise<boolean> {
  const { length } = ENCRYPTED_BACKUP_START;
  const { buffer } = await source.read(Buffer.alloc(length), 0, length, 0);
  return buffer.equals(ENCRYPTED_BACKUP_START);
}

/**
 * Encrypts a file to a new one of mode 0600, in pieces, and reads it back: its length and digest are those of what was written.
 * Whether it opens, only an identity could tell.
 *
 * @param recipients `age1…`, at least one
 * @throws Error for a recipient that age does not know, before anything is written
 */
export async function encryptFile(
  file: string,
  target: string,
  recipients: readonly string[],
): Promise<void> {
  const encrypter = await encrypterFor(recipients);
  const source = await open(file, 'r');
  const copy = await open(target, 'wx+', 0o600);
  try {
    const { size } = await source.stat();
    const encrypted = await encrypter.encrypt(webStream(chunksOf(source, size)));
    const written = createHash('sha256');
    for await (const chunk of encrypted) {
      written.update(chunk);
      await copy.writeFile(chunk);
    }
    await copy.sync();
    const length = encrypted.size(size);
    const { size: found } = await copy.stat();
    const isSame = found === length && (await digestOf(copy, length)) === written.digest('hex');
    if (!isSame) throw new Error(`${target} does not read back as it was written: is the disk well?`);
  } finally {
    await source.close();
    await copy.close();
  }
}

async function encrypterFor(recipients: readonly string[]): Promise<Encrypter> {
  const age = await import('age-encryption');
  const encrypter = new age.Encrypter();
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch (cause) {
      throw new Error(`SV_BACKUP_RECIPIENTS: ${recipient} is no recipient that age knows`, { cause });
    }
  }
  return encrypter;
}

/**
 * Decrypts to a new file of mode 0600, in pieces. What is written before the end is known to be whole, so that a failure leaves a part.
 *
 * @param identityFile as `age-keygen` writes it: an identity a line, comments after `#`
 * @throws BackupRefused
 */
export async function decryptFile(
  { source, file }: { readonly source: FileHandle; readonly file: string },
  target: string,
  identityFile: string,
): Promise<void> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  for (const identity of await identitiesIn(identityFile)) {
    try {
      decrypter.addIdentity(identity);
    } catch {
      throw new BackupRefused(`${identityFile} holds no identity that is known here: ${AGE_ITSELF}`);
    }
  }
  const { size } = await source.stat();
  const decrypted = await decrypter.decrypt(webStream(chunksOf(source, size))).catch((cause: unknown) => {
    throw new BackupRefused(`${identityFile} does not open ${file}, or its first bytes were changed`, {
      cause,
    });
  });
  const copy = await open(target, 'wx', 0o600);
  try {
    for await (const chunk of decrypted) await copy.writeFile(chunk);
  } catch (cause) {
    throw new BackupRefused(`${file} was cut or changed: it does not decrypt to its end`, { cause });
  } finally {
    await copy.close();
  }
}

const AGE_ITSELF = 'decrypt the backup by `age -d -i IDENTITY` and restore what that writes';

async function identitiesIn(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new BackupRefused(`the identity file ${file} cannot be read: ${cause.code ?? 'unknown error'}`, {
      cause,
    });
  });
  const lines = text.split('\n').map((line) => line.trim());
  const identities = lines.filter((line) => line !== '' && !line.startsWith('#'));
  if (identities.length === 0) throw new BackupRefused(`${file} holds no identity of age`);
  return identities;
}

async function digestOf(handle: FileHandle, bytes: number): Promise<string> {
  const hash: Hash = createHash('sha256');
  for await (const chunk of chunksOf(handle, bytes)) hash.update(chunk);
  return hash.digest('hex');
}

/** Pulled piece by piece, so that memory stays bounded. */
const webStream = (chunks: AsyncIterable<Uint8Array>): globalThis.ReadableStream<Uint8Array> =>
  ReadableStream.from(chunks);
