import type { GroupCommit } from '@svault/server-kit/group-commit';
import { type Clock, type Secret, formatTime } from '@svault/shared';
import type { TokenMetadata } from '@svault/shared/schemas';
import type { AuditLog, OwnEvent, Subject } from '../audit/audit-log.ts';
import { ApiError } from '../errors.ts';
import { type KeyWrapper, openSecret, rewrapAsRetired, sealRecord, settingsOf } from './record-envelope.ts';
import type { RecordHead, RecordStore, RefreshMarks, StoredRecord } from './record-store.ts';
import type { RecordDraft, RecordSecret, SealedSettings } from './record.ts';

/** The metadata of a record that the control plane may read (PROTOCOL.md section 5.3). */
function describe(record: RecordHead, marks: Pick<RefreshMarks, 'get'>): TokenMetadata {
  const settings = settingsOf(record);
  const { allowedQuery, approval, expiryTime, provider, requests } = settings;
  return {
    serviceName: record.serviceName,
    tokenType: settings.tokenType,
    createdAt: formatTime(record.createdAtMs),
    updatedAt: formatTime(record.updatedAtMs),
    ...(expiryTime !== undefined && { expiryTime }),
    hasRefreshToken: settings.hasRefreshToken,
    version: record.version,
    delivery: settings.delivery,
    allowedHosts: [...settings.allowedHosts],
    allowedHeaders: [...settings.allowedHeaders],
    ...(allowedQuery !== undefined && { allowedQuery: [...allowedQuery] }),
    ...(requests !== undefined && { requests: [...requests] }),
    ...(approval !== undefined && { approval: { ...approval, for: [...approval.for] } }),
    empty: settings.empty,
    ...(marks.get(record.serviceName, record.version) === 'reauth_needed' && { reauthNeeded: true }),
    ...(provider !== undefined && {
      provider: {
        tokenUrl: provider.tokenUrl,
        clientId: provider.clientId,
        authMethod: provider.authMethod,
        mediated: provider.mediated,
      },
    }),
  };
}

/** PROTOCOL.md section 5.5: how long replaced and deleted records are kept. */
const KEPT_MS = 7 * 24 * 3_600_000;

/** A live record, opened. */
export interface OpenRecord {
  readonly serviceName: string;
  readonly version: number;
  readonly createdAtMs: number;
  readonly settings: SealedSettings;
  readonly secret: Secret<RecordSecret>;
}

/** The records of this webhook. When a promise resolves, the change and its log entry are on the disk, in one commit. */
export function createVault(deps: {
  readonly records: RecordStore;
  readonly marks: RefreshMarks;
  /** What a person decided on a record ends with it. */
  readonly approvals: { end(which: { readonly serviceName: string }): unknown };
  readonly keys: KeyWrapper;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly commit: GroupCommit;
  readonly clock: Clock;
}) {
  const { records, marks, approvals, keys, audit, commit, clock } = deps;

  const retireNow = (live: StoredRecord): void => {
    records.retire({ ...live, wrappedDataKey: rewrapAsRetired(keys, live) }, clock.now());
    approvals.end({ serviceName: live.serviceName });
  };

  /** Writes a new live version in place of the current one. In a transaction. */
  const writeNow = (serviceName: string, { settings, secret }: RecordDraft, createdAtMs: number): number => {
    const now = clock.now();
    const version = records.nextVersion(serviceName);
    const live = records.live(serviceName);
    if (live !== undefined) retireNow(live);
    const head = { serviceName, version, createdAtMs, updatedAtMs: now };
    records.insert(sealRecord(keys, { ...head, settings, secret }));
    return version;
  };

  /**
   * Whether another version than the expected one is live. The log gets a conflict too, so the error must not roll back
   * the transaction: it is thrown after the commit.
   */
  const conflictsNow = (
    live: StoredRecord | undefined,
    ifVersion: number | undefined,
    event: Omit<OwnEvent, 'outcome'>,
  ): boolean => {
    const found = live?.version ?? 0;
    if (ifVersion === undefined || ifVersion === found) return false;
    const detail = { code: 'VERSION_CONFLICT', ifVersion, found };
    audit.appendNow({ ...event, outcome: 'denied', detail });
    return true;
  };

  const openRecord = (record: StoredRecord, place: 'live' | 'retired'): OpenRecord => {
    const { serviceName, version, createdAtMs } = record;
    const settings = settingsOf(record);
    return { serviceName, version, createdAtMs, settings, secret: openSecret(keys, record, place) };
  };
  const openedOrNone = (record: StoredRecord, place: 'live' | 'retired'): OpenRecord | undefined => {
    try {
      return openRecord(record, place);
    } catch {
      return undefined;
    }
  };

  /** Numbers of the former versions that are kept; the one that was live last comes first. */
  const keptVersions = (serviceName: string): readonly number[] =>
    records.retiredVersions(serviceName, clock.now() - KEPT_MS);

  return {
    /**
     * @param options.ifVersion the version to replace; 0: there must be none
     * @param options.subject who stores it, for the log
     * @throws ApiError VERSION_CONFLICT
     */
    put: async (
      serviceName: string,
      draft: RecordDraft,
      { ifVersion, subject }: { readonly ifVersion: number | undefined; readonly subject: Subject },
    ): Promise<{ readonly version: number }> => {
      const event = { eventType: 'CREDENTIAL_STORED', serviceName, ...subject } as const;
      const version = await commit.run(() => {
        const live = records.live(serviceName);
        if (conflictsNow(live, ifVersion, event)) return undefined;
        const written = writeNow(serviceName, draft, live?.createdAtMs ?? clock.now());
        const { tokenType, delivery } = draft.settings;
        audit.appendNow({ ...event, outcome: 'success', detail: { version: written, tokenType, delivery } });
        return written;
      });
      if (version === undefined) throw versionConflict();
      return { version };
    },
    /** @throws ApiError VERSION_CONFLICT */
    delete: async (serviceName: string, ifVersion: number | undefined): Promise<boolean> => {
      const event = { eventType: 'CREDENTIAL_DELETED', serviceName } as const;
      const deleted = await commit.run(() => {
        const live = records.live(serviceName);
        // Deleting a record that does not exist is no conflict, so a repeated call succeeds too.
        if (live === undefined) return false;
        if (conflictsNow(live, ifVersion, event)) return undefined;
        retireNow(live);
        audit.appendNow({ ...event, outcome: 'success', detail: { version: live.version } });
        return true;
      });
      if (deleted === undefined) throw versionConflict();
      return deleted;
    },
    describe: (serviceName: string): TokenMetadata | undefined => {
      const record = records.live(serviceName);
      return record && describe(record, marks);
    },
    /** In the order of names' bytes. */
    list: (query: Parameters<RecordStore['page']>[0]): readonly TokenMetadata[] =>
      records.page(query).map((record) => describe(record, marks)),
    /** @throws AeadFailed when the record was changed outside this program */
    open: (serviceName: string): OpenRecord | undefined => {
      const record = records.live(serviceName);
      return record && openRecord(record, 'live');
    },
    /**
     * Every version that can be live again, opened: the former ones, then the live one. Versions that fail to open are
     * left out.
     */
    openAll: (serviceName: string): readonly (OpenRecord & { readonly isLive: boolean })[] => {
      const kept = keptVersions(serviceName).map((version) => records.retired(serviceName, version));
      const live = records.live(serviceName);
      return [...kept, live].flatMap((record) => {
        const isLive = record === live;
        const opened = record && openedOrNone(record, isLive ? 'live' : 'retired');
        return opened === undefined ? [] : [{ ...opened, isLive }];
      });
    },
    /**
     * In an open transaction: replaces a version, live or former, by the result of a refresh, under a new number. The
     * old one is erased: `restore` must not bring back a refresh token that may be consumed.
     *
     * @returns the new version
     */
    replaceNow: (
      { serviceName, version: former, createdAtMs }: OpenRecord,
      { settings, secret }: RecordDraft,
    ): number => {
      const version = records.nextVersion(serviceName);
      const head = { serviceName, version, createdAtMs, updatedAtMs: clock.now() };
      marks.remove(serviceName, former);
      const place = records.live(serviceName)?.version === former ? 'live' : 'retired';
      records.supersede(former, sealRecord(keys, { ...head, settings, secret }, place));
      return version;
    },
    keptVersions,
    /**
     * Makes a kept version live again, under a new version; undefined when it is not kept. Any of them can be named:
     * otherwise an attacker who replaces a record twice would make the first one unreachable (PROTOCOL.md section 1, c).
     *
     * @param asked the one that was live last unless given
     */
    restore: (serviceName: string, asked?: number): Promise<number | undefined> =>
      commit.run(() => {
        const from = keptVersions(serviceName).find((kept) => asked === undefined || kept === asked);
        const former = from === undefined ? undefined : records.retired(serviceName, from);
        if (former === undefined) return undefined;
        const draft = { settings: settingsOf(former), secret: openSecret(keys, former, 'retired').reveal() };
        const version = writeNow(serviceName, draft, former.createdAtMs);
        marks.carryOver(serviceName, former.version, version);
        audit.appendNow({
          eventType: 'CREDENTIAL_RESTORED',
          outcome: 'success',
          serviceName,
          detail: { version, from },
        });
        return version;
      }),
    /** Erases all kept former versions of a name; the live one stays. */
    purge: (serviceName: string): Promise<number> =>
      commit.run(() => {
        const versions = records.erase({ serviceName });
        const detail = { versions };
        audit.appendNow({ eventType: 'CREDENTIAL_PURGED', outcome: 'success', serviceName, detail });
        return versions;
      }),
    /** Erases versions that were replaced or deleted more than 7 days ago. */
    purgeExpired: (): Promise<number> =>
      commit.run(() => {
        const versions = records.erase({ retiredBeforeMs: clock.now() - KEPT_MS });
        const detail = { versions, keptDays: 7 };
        if (versions > 0) audit.appendNow({ eventType: 'CREDENTIAL_PURGED', outcome: 'success', detail });
        return versions;
      }),
  };
}

export type Vault = ReturnType<typeof createVault>;

const versionConflict = (): Error => new ApiError('VERSION_CONFLICT', 'the record has another version');
