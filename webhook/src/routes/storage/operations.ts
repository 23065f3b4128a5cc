import { fromBase64url, parseTime, toBase64url, utf8 } from '@svault/shared';
import {
  type AuditItem,
  STORAGE_LIMITS,
  type StorageAnswers,
  type StorageOperation,
  type StorageOperationName,
} from '@svault/shared/schemas';
import type { AuditLog } from '../../audit/audit-log.ts';
import type { AuditStore, ChainedEntry } from '../../audit/audit-store.ts';
import type { Checkpoints } from '../../audit/checkpoints.ts';
import { ApiError } from '../../errors.ts';
import type { ProxyConfigs } from '../../proxy/proxy-configs.ts';
import type { Vault } from '../../vault/vault.ts';
import { ROW_OVERHEAD_BYTES, type WriteQuota } from './write-quota.ts';

/** Runs one operation of `POST /v1/storage` (PROTOCOL.md section 5.3). None returns or accepts a secret. */
export type RunOperation = (operation: StorageOperation) => Promise<StorageAnswers[StorageOperationName]>;

type Handlers = {
  readonly [Op in StorageOperationName]: (
    operation: Extract<StorageOperation, { readonly op: Op }>,
  ) => Promise<StorageAnswers[Op]> | StorageAnswers[Op];
};

/**
 * @throws from the returned function, ApiError INVALID_REQUEST, NOT_FOUND, RATE_LIMITED, VERSION_CONFLICT,
 *   CHECKPOINT_CONFLICT
 */
export function createRunOperation(deps: {
  readonly vault: Vault;
  readonly proxyConfigs: ProxyConfigs;
  readonly audit: AuditLog;
  readonly auditStore: Pick<AuditStore, 'hasServiceEvent' | 'page'>;
  readonly checkpoints: Pick<Checkpoints, 'cosign'>;
  readonly quota: WriteQuota;
}): RunOperation {
  const { vault, proxyConfigs, audit, auditStore, checkpoints, quota } = deps;
  const takeRow = (content: object): void =>
    quota.take('records', ROW_OVERHEAD_BYTES + Buffer.byteLength(JSON.stringify(content)));

  const handlers: Handlers = {
    'tokens.list': ({ cursor, limit, expiresBefore }) => {
      const expiresBeforeMs = expiresBefore === undefined ? undefined : parseTime(expiresBefore);
      return page(
        limit,
        (max) => vault.list({ after: fromCursor(cursor), limit: max, expiresBeforeMs }),
        ({ serviceName }) => serviceName,
      );
    },
    'tokens.get': ({ serviceName }) => found(vault.describe(serviceName)),
    'tokens.delete': async ({ serviceName, ifVersion }) => {
      takeRow({});
      return { deleted: await vault.delete(serviceName, ifVersion) };
    },
    'proxies.put': ({ op: _op, ifVersion, ...config }) => {
      takeRow(config);
      return proxyConfigs.put(config, ifVersion);
    },
    'proxies.get': ({ proxyId }) => found(proxyConfigs.get(proxyId)),
    'proxies.list': ({ cursor, limit }) =>
      page(
        limit,
        (max) => proxyConfigs.list({ after: fromCursor(cursor), limit: max }),
        ({ proxyId }) => proxyId,
      ),
    'proxies.delete': async ({ proxyId, ifVersion }) => {
      takeRow({});
      return { deleted: await proxyConfigs.delete(proxyId, ifVersion) };
    },
    'audit.append': async ({ events }) => {
      // An event that the log has is not written again, and costs nothing.
      const fresh = events.filter(({ id }) => !auditStore.hasServiceEvent(id));
      if (fresh.length > 0)
        quota.take('audit', Buffer.byteLength(JSON.stringify(fresh)) + fresh.length * ROW_OVERHEAD_BYTES);
      await audit.appendServiceEvents(fresh);
      return { accepted: events.length };
    },
    // Newest first, with the head of the chain at this moment.
    'audit.list': ({ cursor, limit = STORAGE_LIMITS.defaultPage, agentId, serviceName }) => {
      const before = rowOf(cursor);
      const { items, nextBefore } = auditStore.page({ before, limit, agentId, serviceName });
      const { epoch, seq, hash } = audit.head();
      return {
        items: items.map(toItem),
        ...(nextBefore !== undefined && { nextCursor: toCursor(String(nextBefore)) }),
        head: { epoch, seq, hash },
      };
    },
    'audit.checkpoint': (request) => {
      quota.take('audit', ROW_OVERHEAD_BYTES + Buffer.byteLength(request.checkpoint));
      return checkpoints.cosign(request);
    },
  };
  return async (operation) => {
    // The table above pairs each name with its operation; TypeScript cannot follow that through a look-up.
    const handler = handlers[operation.op] as (one: StorageOperation) => ReturnType<RunOperation>;
    return handler(operation);
  };
}

/** Reads one more than asked for, which tells whether there is a next page. */
function page<T>(
  limit: number = STORAGE_LIMITS.defaultPage,
  read: (max: number) => readonly T[],
  keyOf: (item: T) => string,
): { items: T[]; nextCursor?: string } {
  const rows = read(limit + 1);
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return rows.length > limit && last !== undefined ? { items, nextCursor: toCursor(keyOf(last)) } : { items };
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new ApiError('NOT_FOUND', 'there is none of that name');
  return value;
}

function toItem({ epoch: _epoch, hash: _hash, detail, ...entry }: ChainedEntry): AuditItem {
  return {
    ...entry,
    detail: detail === undefined ? undefined : (JSON.parse(detail) as Record<string, unknown>),
  };
}

const decoder = new TextDecoder('utf-8', { fatal: true });
const badCursor = (cause?: unknown): Error =>
  new ApiError('INVALID_REQUEST', 'the cursor is not one of ours', { cause });

/** A place in a list, opaque to the client: a list is ordered by a key, and a page begins after the last one's. */
const toCursor = (last: string): string => toBase64url(utf8(last));

/**
 * @returns the key after which the page begins, `''` for the first page
 * @throws ApiError INVALID_REQUEST for a text that {@link toCursor} has not made
 */
function fromCursor(cursor: string | undefined): string {
  if (cursor === undefined) return '';
  const bytes = fromBase64url(cursor);
  if (bytes === undefined || bytes.length === 0) throw badCursor();
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw badCursor(error);
  }
}

/** The row of the log before which a page begins. */
function rowOf(cursor: string | undefined): number | undefined {
  const row = fromCursor(cursor);
  if (row === '') return undefined;
  if (!/^[1-9]\d{0,14}$/.test(row)) throw badCursor();
  return Number(row);
}
