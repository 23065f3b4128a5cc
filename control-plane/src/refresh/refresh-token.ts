import { createFailurePause } from '@svault/server-kit/failure-pause';
import { type Clock, type Id, formatTime, parseTime } from '@svault/shared';
import {
  type Capability,
  type TokenMetadata,
  signedHealthSchema,
  storageAnswerSchemas,
} from '@svault/shared/schemas';
import type { AuditWriter } from '../audit/audit-writer.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import { WebhookCallFailed } from '../webhook/call-failed.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import { REFRESH_AHEAD_MS } from './schedule.ts';
import { type Mediation, refreshByMediation, refreshByNotice } from './webhook-refresh.ts';
import {
  type RefreshReason,
  type RefreshResult,
  type RefreshWish,
  type TokenRefresh,
  outcomeOfFailure,
  refreshEvent,
} from './refresh-result.ts';

export interface TokenRefreshOptions extends Mediation {
  readonly limiter: Pick<Limiter, 'take'>;
  readonly limits: Pick<Limits, 'counter'>;
  readonly audit: AuditWriter;
}

/**
 * protocol.md 5.4: a token counts as expired when 30 s are left, by the webhook's clock; that and ours may differ by as much
 * to either side, and it is the webhook that would say so again.
 */
const EXPIRED_MS = 90_000;

/**
 * Asks the webhook what it holds, then refreshes in one of two ways: mediated, where only the service can authenticate the
 * client, else by a notice upon which the webhook does it alone. Who asks for a token that is being refreshed waits for that.
 */
export function createTokenRefresh(options: TokenRefreshOptions): TokenRefresh {
  const { webhook, stores, limiter, limits, audit, clock } = options;
  const underWay = new Map<string, Promise<RefreshResult>>();
  /** For those who use a token; the scheduler has pauses of its own, and an owner waits for nothing. */
  const pause = createFailurePause<RefreshResult>(clock);

  const lookUp = async (link: WebhookLink, serviceName: string): Promise<TokenMetadata> => {
    const body = { op: 'tokens.get', serviceName };
    const answer = await webhook.call(link, { path: '/v1/storage', body });
    const token = storageAnswerSchemas['tokens.get'].safeParse(answer.body).data;
    if (token?.serviceName !== serviceName)
      throw new WebhookCallFailed('garbage', 'an answer that is none of tokens.get');
    return token;
  };

  /** A webhook may have learnt something since it was bound. */
  const isCapable = async (link: WebhookLink, needed: Capability): Promise<boolean> => {
    if (link.capabilities.includes(needed)) return true;
    const answer = await webhook.call(link, { path: '/v1/health' });
    const { capabilities = [] } = signedHealthSchema.safeParse(answer.body).data ?? {};
    const at = formatTime(clock.now());
    await stores.webhookLinks.noteSeen(link, { at, latencyMs: answer.latencyMs, capabilities });
    return capabilities.includes(needed);
  };

  const refreshHeld = async (
    link: WebhookLink,
    token: TokenMetadata,
    reason: RefreshReason,
  ): Promise<RefreshResult> => {
    const { serviceName, hasRefreshToken, provider, reauthNeeded, expiryTime } = token;
    if (!hasRefreshToken || provider === undefined || token.empty) return { outcome: 'not_refreshable' };
    if (reauthNeeded === true) return { outcome: 'reauth_needed' };
    if (isDoneAlready(token, reason, clock))
      return { outcome: 'refreshed', ...(expiryTime !== undefined && { expiryTime }) };
    if (!provider.mediated)
      return (await isCapable(link, 'refresh-notify'))
        ? refreshByNotice(webhook, link, token, reason)
        : { outcome: 'webhook_unavailable' };
    // Where it is known that nothing will be sent, no lease keeps the webhook's own refresh waiting.
    const { tokenUrl, clientId } = provider;
    if ((await stores.providers.find(link.vaultId, tokenUrl, clientId)) === undefined)
      return { outcome: 'provider_not_configured' };
    return (await isCapable(link, 'sv-refresh'))
      ? refreshByMediation(options, link, serviceName)
      : { outcome: 'webhook_unavailable' };
  };

  const attempt = async (
    vaultId: Id<'vlt'>,
    serviceName: string,
    why: RefreshWish,
  ): Promise<RefreshResult> => {
    const link = await stores.webhookLinks.find(vaultId);
    if (link?.lastSeenAt === undefined) return { outcome: 'webhook_unavailable' };
    const verdict = await limiter.take(limits.counter('token_refresh', serviceName), vaultId);
    if (!verdict.allowed) return { outcome: 'limited', retryAfterSeconds: verdict.retryAfterSeconds };
    let reached = false;
    const result = await lookUp(link, serviceName)
      .then((token) => {
        reached = true;
        return refreshHeld(link, token, why.reason);
      })
      .catch((error: unknown) => {
        reached ||= isAnswered(error);
        return outcomeOfFailure(error);
      });
    if (reached) await audit.record(refreshEvent(vaultId, serviceName, why, result));
    return result;
  };

  /** Agents may wait in hundreds for one refresh, which is one event; an owner's wish is an event of its own. */
  const join = async (
    known: Promise<RefreshResult>,
    vaultId: Id<'vlt'>,
    serviceName: string,
    why: RefreshWish,
  ): Promise<RefreshResult> => {
    const result = await known;
    if (why.userId !== undefined) await audit.record(refreshEvent(vaultId, serviceName, why, result));
    return result;
  };

  return {
    refresh: (vaultId, serviceName, why) => {
      const key = `${vaultId} ${serviceName}`;
      const known = underWay.get(key);
      if (known !== undefined) return join(known, vaultId, serviceName, why);
      const failure = why.reason === 'expired' ? pause.failureOf(key) : undefined;
      if (failure !== undefined) return Promise.resolve(failure);
      const attempting = attempt(vaultId, serviceName, why)
        .then((result) => {
          if (HOLDING_OFF.has(result.outcome)) pause.note(key, result);
          if (result.outcome === 'refreshed') pause.note(key, undefined);
          return result;
        })
        .finally(() => underWay.delete(key));
      underWay.set(key, attempting);
      return attempting;
    },
  };
}

/** What asking again at once does not change. */
const HOLDING_OFF: ReadonlySet<RefreshResult['outcome']> = new Set([
  'failed',
  'not_refreshable',
  'provider_not_configured',
  'reauth_needed',
]);

/** Another process, or the webhook itself, was faster; an owner who asks for it gets it all the same. */
function isDoneAlready({ expiryTime }: TokenMetadata, reason: RefreshReason, clock: Clock): boolean {
  if (reason === 'manual') return false;
  const leftMs = (expiryTime === undefined ? Infinity : (parseTime(expiryTime) ?? Infinity)) - clock.now();
  return leftMs > (reason === 'expired' ? EXPIRED_MS : REFRESH_AHEAD_MS);
}

const isAnswered = (error: unknown): boolean =>
  error instanceof WebhookCallFailed && (error.failure === 'refused' || error.failure === 'garbage');
