import {
  CHAIN_START,
  COPIED_MEMBERS,
  type Checkpoint,
  chainHash,
  isSignedBy,
  readCheckpoint,
  readNoteKey,
} from '@svault/shared/audit-chain';
import type { StorageOperation } from '@svault/shared/schemas';
import { ApiError } from '../errors.ts';
import type { AuditEntry } from './audit-store.ts';

export type CheckpointRequest = Extract<StorageOperation, { readonly op: 'audit.checkpoint' }>;

/** The log that a checkpoint has to be of. */
export interface CheckpointLog {
  readonly origin: string;
  readonly vaultId: string;
}

/** An event of the control plane's chain. */
interface ReportedEvent {
  readonly seq: number;
  /** Of this event and all before it. */
  readonly hash: string;
  /** The hashed array (docs/operate/audit-log.md). */
  readonly members: readonly unknown[];
}

/** A checkpoint whose signature holds, with the newest events that lead to it. */
export interface ReadCheckpoint extends Checkpoint {
  readonly note: string;
  readonly logKey: string;
  /** The event before {@link events}, as the control plane gives it. */
  readonly before: { readonly seq: number; readonly hash: string };
  readonly events: readonly ReportedEvent[];
}

/**
 * Verifies what a request says by itself: that the control plane signed the checkpoint of the right log, and that the
 * events lead to its hash (PROTOCOL.md CKP-03 to CKP-08).
 *
 * @throws ApiError INVALID_REQUEST
 */
export function readCheckpointRequest(request: CheckpointRequest, log: CheckpointLog): ReadCheckpoint {
  const { checkpoint: note, key: logKey, previous } = request;
  const { origin, size, hash } = verifiedNote(note, logKey);
  if (origin !== log.origin) throw invalid(`${origin} is not the log of the bound control plane and account`);
  const before = { seq: size - request.events.length, hash: previous };
  if (before.seq < 0) throw invalid('there are more events than the checkpoint covers');
  if (before.seq === 0 && previous !== CHAIN_START) throw invalid('before the first event the hash is zeros');
  let head = previous;
  const events = request.events.map((text, at): ReportedEvent => {
    const seq = before.seq + at + 1;
    const members = membersOf(text);
    if (members[0] !== log.vaultId || members[1] !== seq)
      throw invalid(`the text of event ${seq} is of another account or has another number`);
    head = chainHash(head, text);
    return { seq, hash: head, members };
  });
  if (head !== hash) throw invalid('the events do not lead to the hash of the checkpoint');
  return { origin, size, hash, note, logKey, before, events };
}

/** Whether the log has this event, with the same members. `detail` is left out: the copy may have it shortened. */
export function isCopyOf(copy: AuditEntry | undefined, { members }: ReportedEvent): boolean {
  return (
    copy !== undefined &&
    COPIED_MEMBERS.every((name, at) => (copy[name] ?? null) === (members[at + 2] ?? null))
  );
}

/** The id of an event, `''` where it has none. */
export const idOf = ({ members: [, , id] }: ReportedEvent): string => (typeof id === 'string' ? id : '');

function verifiedNote(note: string, key: string): Checkpoint {
  try {
    const { origin, size, hash, signatures } = readCheckpoint(note);
    const { name, role } = readNoteKey(key);
    if (role !== 'log' || name !== origin) throw new TypeError('the key is not that of the log');
    if (signatures.length !== 1 || !isSignedBy(note, key))
      throw new TypeError('the checkpoint has to have one signature, of the key');
    return { origin, size, hash };
  } catch (error) {
    if (error instanceof TypeError) throw invalid(error.message, error);
    throw error;
  }
}

function membersOf(text: string): readonly unknown[] {
  try {
    const members: unknown = JSON.parse(text);
    if (Array.isArray(members)) return members;
  } catch {
    // No JSON at all.
  }
  throw invalid('the text of an event is no JSON array');
}

const invalid = (message: string, cause?: unknown): ApiError =>
  new ApiError('INVALID_REQUEST', message, { cause });
