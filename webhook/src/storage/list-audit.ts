import {
  type AuditItem,
  STORAGE_LIMITS,
  type StorageAnswer,
  type StorageOperation,
} from '@svault/shared/schemas';
import type { ChainedEntry } from '../audit/audit-entry.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { AuditStore } from '../audit/audit-store.ts';
import { refusal } from '../errors.ts';
import { fromCursor, toCursor } from './cursor.ts';

type Query = Extract<StorageOperation, { readonly op: 'audit.list' }>;

/** `audit.list`: newest first, with the head of the chain as it stands now. */
export function listAudit(
  { cursor, limit = STORAGE_LIMITS.defaultPage, agentId, serviceName }: Query,
  deps: { readonly audit: Pick<AuditLog, 'head'>; readonly auditStore: Pick<AuditStore, 'page'> },
): StorageAnswer<'audit.list'> {
  const { items, nextBefore } = deps.auditStore.page({
    before: placeOf(cursor),
    limit,
    agentId,
    serviceName,
  });
  const { epoch, seq, hash } = deps.audit.head();
  return {
    items: items.map(toItem),
    ...(nextBefore !== undefined && { nextCursor: toCursor(String(nextBefore)) }),
    head: { epoch, seq, hash },
  };
}

function placeOf(cursor: string | undefined): number | undefined {
  const place = fromCursor(cursor);
  if (place === '') return undefined;
  if (!/^[1-9]\d{0,14}$/.test(place)) throw refusal('INVALID_REQUEST', 'the cursor is not one of ours');
  return Number(place);
}

function toItem({ epoch: _epoch, hash: _hash, detail, ...entry }: ChainedEntry): AuditItem {
  return {
    ...entry,
    detail: detail === undefined ? undefined : (JSON.parse(detail) as Record<string, unknown>),
  };
}
