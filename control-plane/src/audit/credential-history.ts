import { type Id, fromBase64url, toBase64url, utf8 } from '@svault/shared';
import { AeadFailed } from '@svault/server-kit/aead';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { AuditEvent } from '../core/audit-event.ts';
import type { AuditStore } from '../core/audit-store.ts';

/** Specification, "credential_history paging rules". */
const PAGE_ROWS = 100;
const MAX_ENTRIES = 50;
const DEFAULT_ENTRIES = 20;

/** Specification, "credential_history". */
type HistoryEntry = Pick<AuditEvent, 'eventType' | 'outcome' | 'timestamp'>;

export type CredentialHistory =
  | {
      readonly valid: true;
      /** Newest first; may be fewer than asked for, even none, while more is left. */
      readonly history: readonly HistoryEntry[];
      /** Opaque; absent when nothing is left. */
      readonly nextCursor?: string;
    }
  /** INVALID_ARGUMENT */
  | { readonly valid: false; readonly argument: 'limit' | 'cursor' };

export interface HistorySubject {
  readonly vaultId: Id<'vlt'>;
  readonly agentId: Id<'agt'>;
  readonly serviceName: string;
}

/**
 * A page of an agent's history with a service: it reads at most 100 of the agent's rows, newest first, and filters them by
 * the service. A caller that follows `nextCursor` sees each row once, except those written meanwhile.
 *
 * @param options.keys encrypt the cursor: it is valid for this agent and service only and reveals nothing of the account's log
 * @param request.limit 1 to 50, default 20
 */
export async function readCredentialHistory(
  options: { readonly log: Pick<AuditStore, 'scan'>; readonly keys: Pick<MasterKeys, 'wrap' | 'unwrap'> },
  subject: HistorySubject,
  request: { readonly limit?: number | undefined; readonly cursor?: string | undefined } = {},
): Promise<CredentialHistory> {
  const { log, keys } = options;
  const { limit = DEFAULT_ENTRIES, cursor } = request;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_ENTRIES)
    return { valid: false, argument: 'limit' };
  const before = cursor === undefined ? undefined : openCursor(keys, subject, cursor);
  if (cursor !== undefined && before === undefined) return { valid: false, argument: 'cursor' };

  const { vaultId, agentId, serviceName } = subject;
  // One row more than a page, so that there is a cursor exactly where a row is left.
  const { events } = await log.scan(vaultId, { agentId }, { limit: PAGE_ROWS + 1, before });
  const page = events.slice(0, PAGE_ROWS);
  const fitting = page.filter((event) => event.serviceName === serviceName);
  const given = fitting.slice(0, limit);
  const next = fitting.length > limit ? given.at(-1) : events.length > PAGE_ROWS ? page.at(-1) : undefined;
  return {
    valid: true,
    history: given.map(({ eventType, timestamp, outcome }) => ({ eventType, timestamp, outcome })),
    ...(next !== undefined && { nextCursor: sealCursor(keys, subject, next.seq) }),
  };
}

/** An encrypted event number is shorter. */
const MAX_CURSOR_CHARACTERS = 128;

const purposeOf = ({ agentId, serviceName }: HistorySubject): string =>
  `history-cursor:${agentId}:${serviceName}`;

const sealCursor = (keys: Pick<MasterKeys, 'wrap'>, subject: HistorySubject, seq: number): string =>
  toBase64url(keys.wrap(utf8(String(seq)), purposeOf(subject)));

/** @returns the event number below which the page begins; undefined for a damaged cursor or that of another subject */
function openCursor(
  keys: Pick<MasterKeys, 'unwrap'>,
  subject: HistorySubject,
  cursor: string,
): number | undefined {
  const sealed = cursor.length > MAX_CURSOR_CHARACTERS ? undefined : fromBase64url(cursor);
  if (sealed === undefined) return undefined;
  try {
    return Number(Buffer.from(keys.unwrap(sealed, purposeOf(subject))).toString());
  } catch (error) {
    if (error instanceof AeadFailed) return undefined;
    throw error;
  }
}
