import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { Logger } from '@svault/server-kit/logger';
import { type Clock, Secret } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import type { AuditLog } from '../audit/audit-log.ts';
import type { OpenRecord, Vault } from '../vault/vault.ts';
import type { CallLimit } from './call-limit.ts';
import { callProvider } from './provider-call.ts';
import type { RefreshMarks } from '../vault/refresh-marks.ts';
import { hasSameGrant } from './grant.ts';
import { refreshedDraft } from './refreshed-draft.ts';
import type { ProviderAnswer } from './token-answer.ts';
import type { ClientAuthentication } from './token-request.ts';
import { stopping } from './turns.ts';

/** Who or what wanted a refresh: somebody who needed the token, the service, or the start after a kill. */
export type RefreshCause = 'use' | 'notify' | 'lease' | 'start';

export type RefreshResult =
  | { readonly outcome: 'refreshed'; readonly record: OpenRecord }
  /** The refresh token is not good: nobody is called again until the secret is stored anew. */
  | { readonly outcome: 'reauth_needed' }
  | { readonly outcome: 'failed'; readonly code: 'PROVIDER_ERROR' | 'PROVIDER_TIMEOUT' }
  /** Nobody was called: the token had its calls for this hour. */
  | { readonly outcome: 'limited'; readonly retryAfterSeconds: number }
  /** Another version is live by now, or none. */
  | { readonly outcome: 'changed' };

/** One refresh, for who has the turn of the token. */
export interface RefreshOnce {
  /**
   * Marks the refresh token as one that may be spent, calls the provider, and stores what it answers (protocol section 7).
   * Each step is on the disk before the next.
   *
   * @param record the live one, refreshable
   * @throws AppError UNAVAILABLE once it was left; errors of the database
   */
  run(
    record: OpenRecord,
    by: { readonly cause: RefreshCause; readonly authentication?: ClientAuthentication },
  ): Promise<RefreshResult>;
  /** Stores the pairs that a failing disk did not take. @throws what the disk says */
  storeUnstored(): Promise<void>;
  /** Begins nothing new; what is under way goes on. */
  leave(): void;
  /** Resolves once no call is under way and everything is stored; to be called after `leave`. @throws what the disk says */
  close(): Promise<void>;
}

/** A pair that the provider gave for a version of a record. */
interface Gained {
  readonly record: OpenRecord;
  readonly pair: Extract<ProviderAnswer, { kind: 'pair' }>;
  readonly askedAtMs: number;
  readonly cause: RefreshCause;
}

export function createRefreshOnce(deps: {
  readonly vault: Pick<Vault, 'describe' | 'openAll' | 'replaceNow'>;
  readonly marks: RefreshMarks;
  readonly limit: CallLimit;
  readonly egress: Pick<Egress, 'request'>;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly commit: GroupCommit;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
}): RefreshOnce {
  const { vault, marks, limit, egress, audit, commit, clock, logger } = deps;
  /** The provider has rotated, and this memory is the only place where the new token is. */
  const unstored = new Set<Gained>();

  const markNow = ({ serviceName, version }: OpenRecord): 'marked' | 'reauth_needed' | 'changed' => {
    if (vault.describe(serviceName)?.version !== version) return 'changed';
    if (marks.get(serviceName, version) === 'reauth_needed') return 'reauth_needed';
    marks.put({ serviceName, version, state: 'may_be_spent', sinceMs: clock.now() });
    return 'marked';
  };

  /** In the place of every version that holds the refresh token which is spent by now, the live one last. */
  const storeNow = ({ record, pair, askedAtMs, cause }: Gained): RefreshResult => {
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

  const storing = new Map<Gained, Promise<RefreshResult>>();
  /** Once, however many come to it: those who need the token, and the job that tries again. */
  const store = (gained: Gained): Promise<RefreshResult> => {
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
    code: 'REAUTH_NEEDED' | 'PROVIDER_ERROR' | 'PROVIDER_TIMEOUT',
  ): void => {
    // A version that was purged meanwhile has no place for a mark.
    if (code === 'REAUTH_NEEDED' && marks.get(serviceName, version) !== undefined)
      marks.put({ serviceName, version, state: 'reauth_needed', sinceMs: clock.now() });
    const outcome = code === 'REAUTH_NEEDED' ? 'denied' : 'error';
    const detail = { cause, version, code };
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
    if (answer.kind === 'refused') {
      await commit.run(() => failNow(record, cause, 'REAUTH_NEEDED'));
      return { outcome: 'reauth_needed' };
    }
    const { code, reason } = answer;
    const { serviceName } = record;
    logger.warn({ serviceName, code, reason, cause }, 'a token could not be refreshed');
    await commit.run(() => failNow(record, cause, code));
    return { outcome: 'failed', code };
  };

  const ofName = (serviceName: string): readonly Gained[] =>
    [...unstored].filter(({ record }) => record.serviceName === serviceName);

  const refresh: RefreshOnce['run'] = async (record, { cause, authentication }) => {
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
  const storeUnstored = async (): Promise<void> => {
    // Each of them is tried: what keeps one from being stored need not keep the others.
    const stored = await Promise.allSettled([...unstored].map(store));
    const unwritten = stored.find((one) => one.status === 'rejected');
    if (unwritten !== undefined) throw unwritten.reason;
  };
  const underWay = new Set<Promise<RefreshResult>>();
  let left = false;

  return {
    run: async (record, by) => {
      // What a provider answers now would find no database to be stored in.
      if (left) throw stopping();
      const running = refresh(record, by);
      underWay.add(running);
      try {
        return await running;
      } finally {
        underWay.delete(running);
      }
    },
    storeUnstored,
    leave: () => void (left = true),
    close: async () => {
      await Promise.allSettled(underWay);
      await storeUnstored();
    },
  };
}
