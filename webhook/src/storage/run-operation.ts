import type { GroupCommit } from '@svault/server-kit/group-commit';
import { parseTime } from '@svault/shared';
import {
  STORAGE_LIMITS,
  type StorageAnswers,
  type StorageOperation,
  type StorageOperationName,
} from '@svault/shared/schemas';
import type { AuditLog } from '../audit/audit-log.ts';
import type { AuditStore } from '../audit/audit-store.ts';
import { refusal } from '../errors.ts';
import type { ProxyConfigs } from '../proxy/proxy-configs.ts';
import type { Vault } from '../vault/vault.ts';
import { listAudit } from './list-audit.ts';
import { type QuotaKind, ROW_OVERHEAD_BYTES, type WriteQuota } from '../routes/storage/write-quota.ts';
import { fromCursor, toCursor } from './cursor.ts';

export interface StorageDeps {
  readonly vault: Vault;
  readonly proxyConfigs: ProxyConfigs;
  readonly audit: AuditLog;
  readonly auditStore: Pick<AuditStore, 'hasServiceEvent' | 'page'>;
  readonly commit: GroupCommit;
  readonly quota: WriteQuota;
}

/** Runs one operation of `POST /v1/storage` (protocol section 5.3). None returns or accepts a secret. */
export type RunOperation = (operation: StorageOperation) => Promise<StorageAnswers[StorageOperationName]>;

type Handlers = {
  readonly [Op in StorageOperationName]: (
    operation: Extract<StorageOperation, { readonly op: Op }>,
  ) => Promise<StorageAnswers[Op]> | StorageAnswers[Op];
};

/** @throws from the returned function, AppError INVALID_REQUEST, NOT_FOUND, RATE_LIMITED, VERSION_CONFLICT */
export function createRunOperation(deps: StorageDeps): RunOperation {
  const { vault, proxyConfigs, audit, auditStore, commit, quota } = deps;
  const takeRow = (kind: QuotaKind, content: object): void =>
    quota.take(kind, ROW_OVERHEAD_BYTES + Buffer.byteLength(JSON.stringify(content)));
  const handlers: Handlers = {
    'tokens.list': ({ cursor, limit, expiresBefore }) => {
      const expiresBeforeMs = expiresBefore === undefined ? undefined : parseTime(expiresBefore);
      return page(
        limit,
        (max) => vault.list({ after: fromCursor(cursor), limit: max, expiresBeforeMs }),
        nameOf,
      );
    },
    'tokens.get': ({ serviceName }) => found(vault.describe(serviceName)),
    'tokens.delete': async ({ serviceName, ifVersion }) => {
      takeRow('records', {});
      return { deleted: await vault.delete(serviceName, ifVersion) };
    },
    'proxies.put': ({ proxyId, serviceName, upstreamUrl, headerTemplates, ifVersion }) => {
      const config = { proxyId, serviceName, upstreamUrl, headerTemplates };
      takeRow('records', config);
      return proxyConfigs.put(config, ifVersion);
    },
    'proxies.get': ({ proxyId }) => found(proxyConfigs.get(proxyId)),
    'proxies.list': ({ cursor, limit }) =>
      page(limit, (max) => proxyConfigs.list({ after: fromCursor(cursor), limit: max }), idOf),
    'proxies.delete': async ({ proxyId, ifVersion }) => {
      takeRow('records', {});
      return { deleted: await proxyConfigs.delete(proxyId, ifVersion) };
    },
    'audit.append': async ({ events }) => {
      // What was seen before is not written again, and costs nothing.
      const fresh = events.filter(({ id }) => !auditStore.hasServiceEvent(id));
      if (fresh.length > 0)
        quota.take('audit', Buffer.byteLength(JSON.stringify(fresh)) + fresh.length * ROW_OVERHEAD_BYTES);
      await commit.run(() => {
        for (const event of fresh) audit.appendServiceEventNow(event);
      });
      return { accepted: events.length };
    },
    'audit.list': (query) => listAudit(query, { audit, auditStore }),
  };
  return async (operation) => {
    // The table above pairs each name with its operation; TypeScript cannot follow that through a look-up.
    const handler = handlers[operation.op] as (one: StorageOperation) => ReturnType<RunOperation>;
    return handler(operation);
  };
}

const nameOf = ({ serviceName }: { readonly serviceName: string }): string => serviceName;
const idOf = ({ proxyId }: { readonly proxyId: string }): string => proxyId;

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
  if (value === undefined) throw refusal('NOT_FOUND', 'there is none of that name');
  return value;
}
