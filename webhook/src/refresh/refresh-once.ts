import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { Logger } from '@svault/server-kit/logger';
import { type Clock, Secret, formatTime } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import type { AuditLog } from '../audit/audit-log.ts';
import type { SlidingWindow } from '../sliding-window.ts';
import type { RefreshMarks } from '../vault/record-store.ts';
import type { RecordDraft } from '../vault/record.ts';
import type { OpenRecord, Vault } from '../vault/vault.ts';
import { type ClientAuthentication, type TokenPair, callProvider } from './provider-call.ts';
import { stopping } from './token-locks.ts';

/** What wanted a refresh: a use of the token, the control plane (`notify`, `lease`), or the start after a kill. */
export type RefreshCause = 'use' | 'notify' | 'lease' | 'start';

export type RefreshResult =
  | { readonly outcome: 'refreshed'; readonly record: OpenRecord }
  /** The provider rejected the refresh token: no call is made again until the owner stores the credential again. */
  | { readonly outcome: 'reauth_needed'; readonly reason?: string }
  | {
      readonly outcome: 'failed';
      readonly code: 'PROVIDER_ERROR' | 'PROVIDER_TIMEOUT';
      /** For the owner and the log. */
      readonly reason: string;
    }
  /** No call was made: the token reached its limit of calls an hour. */
  | { readonly outcome: 'limited'; readonly retryAfterSeconds: number }
  /** Another version is live, or none. */
  | { readonly outcome: 'changed' };

type ProviderFailure = 'REAUTH_NEEDED' | 'PROVIDER_ERROR' | 'PROVIDER_TIMEOUT';

export interface RefreshMetrics {
  readonly refreshes: (ended: {
    readonly cause: RefreshCause;
    readonly outcome: RefreshResult['outcome'];
  }) => void;
}

interface RefreshBy {
  readonly cause: RefreshCause;
  readonly authentication?: ClientAuthentication;
}

/** Tokens that the provider gave for a version of a record. */
interface NewTokens {
  readonly record: OpenRecord;
  readonly pair: TokenPair;
  readonly askedAtMs: number;
  readonly cause: RefreshCause;
}

/** One refresh, by the holder of the token's lock. */
export function createRefreshOnce(deps: {
  readonly vault: Pick<Vault, 'describe' | 'openAll' | 'replaceNow'>;
  readonly marks: RefreshMarks;
  readonly limit: SlidingWindow;
  readonly egress: Pick<Egress, 'request'>;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly commit: GroupCommit;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
  readonly metrics: RefreshMetrics;
}) {
  const { vault, marks, limit, egress, audit, commit, clock, logger, metrics } = deps;
  /** The provider has rotated the token, and only this memory holds the new one. */
  const unstored = new Set<NewTokens>();

  const markNow = ({ serviceName, version }: OpenRecord): 'marked' | 'reauth_needed' | 'changed' => {
    if (vault.describe(serviceName)?.version !== version) return 'changed';
    if (marks.get(serviceName, version) === 'reauth_needed') return 'reauth_needed';
    marks.put({ serviceName, version, state: 'may_be_spent', sinceMs: clock.now() });
    return 'marked';
  };

  /** Replaces every version that holds the consumed refresh token, the live one last. */
  const storeNow = ({ record, pair, askedAtMs, cause }: NewTokens): RefreshResult => {
    const { serviceName, version: from } = record;
    const holders = vault.openAll(serviceName).filter((holder) => hasSameGrant(holder, record));
    const stored = holders.map((holder) => {
      const { settings, secret } = refreshedDraft(holder, pair, askedAtMs);
      const version = vault.replaceNow(holder, { settings, secret });
      return { ...holder, version, settings, secret: new Secret(secret) };
    });
    const rotated = pair.refreshToken !== undefined;
    const last = stored.at(-1);
    const detail = { cause, from, version: last?.version, rotated, expiryTime: last?.settings.expiryTime };
    const outcome = last === undefined ? 'error' : 'success';
    audit.appendNow({ eventType: 'CREDENTIAL_REFRESHED', outcome, serviceName, detail });
    return last?.isLive === true ? { outcome: 'refreshed', record: last } : { outcome: 'changed' };
  };

  const storing = new Map<NewTokens, Promise<RefreshResult>>();
  /** Concurrent callers (uses of the token, and the job that tries again) share one write. */
  const store = (gained: NewTokens): Promise<RefreshResult> => {
    unstored.add(gained);
    const stored =
      storing.get(gained) ??
      commit
        .run(() => storeNow(gained))
        .then((result) => {
          unstored.delete(gained);
          return result;
        })
        .finally(() => storing.delete(gained));
    storing.set(gained, stored);
    return stored;
  };

  const failNow = (
    { serviceName, version }: OpenRecord,
    cause: RefreshCause,
    { code, reason }: { readonly code: ProviderFailure; readonly reason: string },
  ): void => {
    // A version that was purged meanwhile takes no mark.
    if (code === 'REAUTH_NEEDED' && marks.get(serviceName, version) !== undefined)
      marks.put({ serviceName, version, state: 'reauth_needed', sinceMs: clock.now() });
    const outcome = code === 'REAUTH_NEEDED' ? 'denied' : 'error';
    const detail = { cause, version, code, reason };
    audit.appendNow({ eventType: 'CREDENTIAL_REFRESHED', outcome, serviceName, detail });
  };

  const call = async (
    record: OpenRecord,
    cause: RefreshCause,
    given: ClientAuthentication | undefined,
  ): Promise<RefreshResult> => {
    const { refreshToken, clientSecret } = record.secret.reveal();
    const { provider } = record.settings;
    if (provider === undefined || refreshToken === undefined) return { outcome: 'changed' };
    limit.count(record.serviceName);
    const askedAtMs = clock.now();
    const answer = await callProvider(egress, {
      provider,
      refreshToken: new Secret(refreshToken),
      authentication: given ?? {
        clientSecret: clientSecret === undefined ? undefined : new Secret(clientSecret),
      },
    });
    if (answer.kind === 'pair') return store({ record, pair: answer, askedAtMs, cause });
    const { reason } = answer;
    const code: ProviderFailure = answer.kind === 'refused' ? 'REAUTH_NEEDED' : answer.code;
    const { serviceName } = record;
    logger.warn({ serviceName, code, reason, cause }, 'a token could not be refreshed');
    await commit.run(() => failNow(record, cause, { code, reason }));
    return code === 'REAUTH_NEEDED'
      ? { outcome: 'reauth_needed', reason }
      : { outcome: 'failed', code, reason };
  };

  const ofName = (serviceName: string): readonly NewTokens[] =>
    [...unstored].filter(({ record }) => record.serviceName === serviceName);

  const refresh = async (
    record: OpenRecord,
    { cause, authentication }: RefreshBy,
  ): Promise<RefreshResult> => {
    const { serviceName, version } = record;
    for (const gained of ofName(serviceName)) {
      const stored = await store(gained);
      if (gained.record.version === version) return stored;
    }
    const retryAfterSeconds = limit.retryAfterSeconds(serviceName);
    if (retryAfterSeconds !== undefined) return { outcome: 'limited', retryAfterSeconds };
    const outcome = await commit.run(() => markNow(record));
    return outcome === 'marked' ? call(record, cause, authentication) : { outcome };
  };
  /** Stores the tokens that a failing disk did not take; call it repeatedly. @throws errors of the database */
  const storeUnstored = async (): Promise<void> => {
    // Tries all of them: a failure of one does not stop the others.
    const stored = await Promise.allSettled([...unstored].map(store));
    const unwritten = stored.find((one) => one.status === 'rejected');
    if (unwritten !== undefined) throw unwritten.reason;
  };
  const underWay = new Set<Promise<RefreshResult>>();
  let left = false;

  return {
    /**
     * Marks the refresh token as one that may be consumed, calls the provider, and stores its answer (PROTOCOL.md
     * section 7). Each step is on the disk before the next.
     *
     * @param record the live one, refreshable
     * @throws ApiError UNAVAILABLE after `leave`; errors of the database
     */
    run: async (record: OpenRecord, by: RefreshBy): Promise<RefreshResult> => {
      // The database closes before the provider's answer could be stored.
      if (left) throw stopping();
      const running = refresh(record, by);
      underWay.add(running);
      try {
        const result = await running;
        metrics.refreshes({ cause: by.cause, outcome: result.outcome });
        return result;
      } finally {
        underWay.delete(running);
      }
    },
    storeUnstored,
    /** Begins no call; calls under way continue. */
    leave: (): void => void (left = true),
    /** Resolves once no call is under way and everything is stored; call it after `leave`. */
    close: async (): Promise<void> => {
      await Promise.allSettled(underWay);
      await storeUnstored();
    },
  };
}

export type RefreshOnce = ReturnType<typeof createRefreshOnce>;

/**
 * Whether two versions hold one grant: stored twice, or brought back by a restore. A use of its refresh token consumes
 * it in both. The client's secret is part of the comparison: a caller who stores a refresh token that leaked, without
 * the secret to use it, must not receive the next one.
 */
function hasSameGrant(one: OpenRecord, other: OpenRecord): boolean {
  const [a, b] = [one.settings.provider, other.settings.provider];
  const [ours, theirs] = [one.secret.reveal(), other.secret.reveal()];
  return (
    a?.tokenUrl === b?.tokenUrl &&
    a?.clientId === b?.clientId &&
    ours.refreshToken === theirs.refreshToken &&
    ours.clientSecret === theirs.clientSecret
  );
}

/**
 * The record after a provider's answer: everything sealed with the former tokens stays.
 *
 * @param askedAtMs when the provider was called; the token's lifetime counts from then
 */
function refreshedDraft(record: OpenRecord, pair: TokenPair, askedAtMs: number): RecordDraft {
  const { settings } = record;
  const former = record.secret.reveal();
  const { accessToken, refreshToken, expiresInSeconds } = pair;
  const expiryTime =
    expiresInSeconds === undefined ? undefined : formatTime(askedAtMs + Math.floor(expiresInSeconds * 1000));
  return {
    settings: { ...settings, expiryTime, empty: false },
    secret: {
      ...former,
      accessToken: accessToken.reveal(),
      refreshToken: refreshToken?.reveal() ?? former.refreshToken,
    },
  };
}
