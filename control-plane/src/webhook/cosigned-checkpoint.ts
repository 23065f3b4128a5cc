import {
  type ChainHead,
  checkpointText,
  eventText,
  isSignedBy,
  readCheckpoint,
  readNoteKey,
} from '@svault/shared/audit-chain';
import {
  checkpointConflictSchema,
  storageAnswerSchemas,
  storageBatchAnswerSchema,
} from '@svault/shared/schemas';
import type { AuditEvent } from '../core/audit-event.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import { MAX_BATCH_BYTES, failureOf, refusalCodeOf } from './audit-delivery.ts';
import { garbage } from './call-failed.ts';
import type { CheckpointKeys } from './checkpoint-key.ts';
import type { WebhookClient } from './retrying-client.ts';

/** A part of the log that is to be cosigned. */
export interface Page {
  /** The hash of the event before the first of these. */
  readonly previous: string;
  readonly events: readonly AuditEvent[];
  /** The last of them; where there is none, the event before. */
  readonly head: ChainHead;
}

/** What a webhook answers to a checkpoint. */
export type Cosigned =
  | { readonly note: string; readonly webhookKey: string }
  | {
      readonly code: 'CHECKPOINT_CONFLICT' | 'INVALID_REQUEST';
      /** The checkpoint that it cosigned last, where it says so. */
      readonly known: ChainHead | undefined;
    };

/**
 * Has a webhook cosign a checkpoint (PROTOCOL.md section 5.11).
 *
 * @returns the note with both signatures, which are verified
 * @throws WebhookCallFailed
 */
export async function cosign(
  { webhook, keyOf }: { readonly webhook: WebhookClient; readonly keyOf: CheckpointKeys },
  link: WebhookLink,
  { previous, events, head }: Page,
  signal: AbortSignal,
): Promise<Cosigned> {
  const key = keyOf(link.vaultId);
  const text = checkpointText({ origin: key.origin, size: head.seq, hash: head.hash });
  const signed = `${text}\n${key.sign(text)}`;
  const operation = {
    ...{ op: 'audit.checkpoint', checkpoint: signed, key: key.vkey, previous },
    events: events.map(eventText),
  };
  // In a batch a refusal keeps its members.
  const { body } = await webhook.call(link, { path: '/v1/storage', body: { batch: [operation] }, signal });
  const [result] = storageBatchAnswerSchema.safeParse(body).data?.results ?? [];
  const code = refusalCodeOf(result);
  if (code === 'CHECKPOINT_CONFLICT' || code === 'INVALID_REQUEST') {
    const { data } = checkpointConflictSchema.safeParse(result);
    return { code, known: data && { seq: data.size, hash: data.hash } };
  }
  const { data } = storageAnswerSchemas['audit.checkpoint'].safeParse(result);
  if (data === undefined) throw failureOf(result, 'the webhook did not cosign the log');
  const note = signed + data.cosignature;
  if (!isCosigned(note, data.key)) throw garbage('audit.checkpoint');
  return { note, webhookKey: data.key };
}

/** Whether a note has one signature besides ours, which is a cosigner's by this key. */
function isCosigned(note: string, webhookKey: string): boolean {
  try {
    return (
      readCheckpoint(note).signatures.length === 2 &&
      readNoteKey(webhookKey).role === 'cosigner' &&
      isSignedBy(note, webhookKey)
    );
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

/** The first events, as many as fit into one `audit.checkpoint`. */
export function cutPage(events: readonly AuditEvent[]): readonly AuditEvent[] {
  let bytes = 0;
  const end = events.findIndex((event) => {
    bytes += Buffer.byteLength(JSON.stringify(eventText(event))) + 1;
    return bytes > MAX_BATCH_BYTES - MAX_OTHER_BYTES;
  });
  return end === -1 ? events : events.slice(0, end);
}

/** The note and its key. */
const MAX_OTHER_BYTES = 8 * 1024;
