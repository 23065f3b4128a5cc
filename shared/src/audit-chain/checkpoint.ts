/** The head of one account's chain at some moment (PROTOCOL.md section 5.11). */
export interface Checkpoint {
  /** Names the log: {@link checkpointOrigin}. */
  readonly origin: string;
  /** The number of the newest event that it covers, at least 1. */
  readonly size: number;
  /** The hash of that event: 64 lower-case hex digits. */
  readonly hash: string;
}

/** A chain has no Merkle tree: the line for the root hash has the hash of the newest event. */
const TEXT = /^([^\n]+)\n([1-9]\d{0,15})\n([A-Za-z0-9+/]{43}=)\n$/;
const KEY_NAME = /^[^\s+\p{C}]+$/u;
const SIGNATURE_LINE = /^— (\S+) (\S+)$/;
/** As many as every reader of signed notes takes. */
const MAX_SIGNATURES = 16;

/** Which log of which control plane: host (with port if it has one) of its public address, and the account's id. */
export function checkpointOrigin(baseUrl: string, vaultId: string): string {
  return `${new URL(baseUrl).host}/${vaultId}`;
}

/** Whether a key may have this name: no white space, no plus, no control character. */
export function isKeyName(text: string): boolean {
  return KEY_NAME.test(text) && text.isWellFormed();
}

/** The signed text of a checkpoint (https://c2sp.org/tlog-checkpoint). */
export function checkpointText({ origin, size, hash }: Checkpoint): string {
  return `${origin}\n${size}\n${Buffer.from(hash, 'hex').toString('base64')}\n`;
}

/** A signature of a note: who made it, the first four bytes of the key's hash, and the signature itself. */
export interface NoteSignature {
  readonly name: string;
  readonly keyId: Buffer;
  readonly signature: Buffer;
}

/**
 * Reads a signed checkpoint, and verifies no signature.
 *
 * @param note signed note (https://c2sp.org/signed-note) of three lines of text, without extension lines
 * @throws TypeError for anything else, with what is wrong
 */
export function readCheckpoint(
  note: string,
): Checkpoint & { readonly text: string; readonly signatures: readonly NoteSignature[] } {
  const end = note.indexOf('\n\n') + 1;
  if (end === 0 || !note.endsWith('\n'))
    throw new TypeError('not a signed note: no signature follows a text');
  const text = note.slice(0, end);
  const [, origin = '', size, hash = ''] = TEXT.exec(text) ?? [];
  const bytes = Buffer.from(hash, 'base64');
  if (!isKeyName(origin) || !Number.isSafeInteger(Number(size)) || bytes.toString('base64') !== hash)
    throw new TypeError('not a checkpoint: the text has to be an origin, a size and a hash');
  const lines = note.slice(end + 1, -1).split('\n');
  if (lines.length > MAX_SIGNATURES) throw new TypeError(`a note has at most ${MAX_SIGNATURES} signatures`);
  return {
    origin,
    size: Number(size),
    hash: bytes.toString('hex'),
    text,
    signatures: lines.map(readSignature),
  };
}

function readSignature(line: string): NoteSignature {
  const [, name = '', encoded = ''] = SIGNATURE_LINE.exec(line) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  if (!isKeyName(name) || bytes.length < 5 || bytes.toString('base64') !== encoded)
    throw new TypeError('not a signed note: a line after the text is no signature');
  return { name, keyId: bytes.subarray(0, 4), signature: bytes.subarray(4) };
}
