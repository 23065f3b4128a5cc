import { createFailurePause } from '@svault/server-kit/failure-pause';
import { type Id, parseTime } from '@svault/shared';
import { type TokenMetadata, storageAnswerSchemas } from '@svault/shared/schemas';
import type { AuditWriter } from '../audit/audit-writer.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import { WebhookCallFailed, garbage } from '../webhook/call-failed.ts';
import { hasCapability } from '../webhook/retrying-client.ts';
import {
  type RefreshReason,
  type RefreshRequest,
  type RefreshResult,
  type TokenRefresh,
  outcomeOfFailure,
  refreshEvent,
} from './refresh-result.ts';
import { REFRESH_AHEAD_MS } from './schedule.ts';
import { type Mediation, refreshByMediation, refreshByNotice } from './webhook-refresh.ts';

/**
 * PROTOCOL.md section 5.4: a token counts as expired from 30 s before its end, by the webhook's clock, which may differ from
 * ours by 30 s to either side. The webhook decides in the end.
 */
const EXPIRED_MS = 90_000;

/** Results that an immediate second attempt does not change. */
const PAUSING_OUTCOMES: ReadonlySet<RefreshResult['outcome']> = new Set([
  'failed',
  'not_refreshable',
  'provider_not_configured',
  'reauth_needed',
]);

/**
 * Reads the token's record from the webhook, then refreshes: by mediation, where only the control plane can authenticate the
 * client, else by a notice. Requests for a token that is being refreshed wait for that refresh.
 */
export function createTokenRefresh(
  options: Mediation & {
    readonly limiter: Pick<Limiter, 'take'>;
    readonly limits: Pick<Limits, 'counter'>;
    readonly audit: Pick<AuditWriter, 'record'>;
  },
): TokenRefresh {
  const { webhook, stores, limiter, limits, audit, clock } = options;
  const health = { links: stores.webhookLinks, webhook, clock };
  const inFlight = new Map<string, Promise<RefreshResult>>();
  /** For the reason `expired` alone: the scheduler makes its own pauses, and an owner's request is always tried. */
  const pause = createFailurePause<RefreshResult>(clock);

  const readToken = async (link: WebhookLink, serviceName: string): Promise<TokenMetadata> => {
    const body = { op: 'tokens.get', serviceName };
    const answer = await webhook.call(link, { path: '/v1/storage', body });
    const token = storageAnswerSchemas['tokens.get'].safeParse(answer.body).data;
    if (token?.serviceName !== serviceName) throw garbage('tokens.get');
    return token;
  };

  /** Another process or the webhook may have refreshed it. An owner's request refreshes it all the same. */
  const isRefreshed = ({ expiryTime }: TokenMetadata, reason: RefreshReason): boolean => {
    if (reason === 'manual') return false;
    const leftMs = (parseTime(expiryTime ?? '') ?? Infinity) - clock.now();
    return leftMs > (reason === 'expired' ? EXPIRED_MS : REFRESH_AHEAD_MS);
  };

  const refreshRecord = async (
    link: WebhookLink,
    token: TokenMetadata,
    reason: RefreshReason,
  ): Promise<RefreshResult> => {
    const { serviceName, hasRefreshToken, provider, reauthNeeded, expiryTime } = token;
    if (!hasRefreshToken || provider === undefined || token.empty) return { outcome: 'not_refreshable' };
    if (reauthNeeded === true) return { outcome: 'reauth_needed' };
    if (isRefreshed(token, reason))
      return { outcome: 'refreshed', ...(expiryTime !== undefined && { expiryTime }) };
    if (!provider.mediated)
      return (await hasCapability(health, link, 'refresh-notify'))
        ? refreshByNotice(webhook, link, token, reason)
        : { outcome: 'webhook_unavailable' };
    // Without a matching provider no lease is taken, which would only delay the webhook's own refresh.
    const { tokenUrl, clientId } = provider;
    if ((await stores.providers.find(link.vaultId, tokenUrl, clientId)) === undefined)
      return { outcome: 'provider_not_configured' };
    return (await hasCapability(health, link, 'sv-refresh'))
      ? refreshByMediation(options, link, serviceName)
      : { outcome: 'webhook_unavailable' };
  };

  const attempt = async (
    vaultId: Id<'vlt'>,
    serviceName: string,
    request: RefreshRequest,
  ): Promise<RefreshResult> => {
    const link = await stores.webhookLinks.find(vaultId);
    if (link?.lastSeenAt === undefined) return { outcome: 'webhook_unavailable' };
    const verdict = await limiter.take(limits.counter('token_refresh', serviceName), vaultId);
    if (!verdict.allowed) return { outcome: 'limited', retryAfterSeconds: verdict.retryAfterSeconds };
    let isReached = false;
    let result: RefreshResult;
    try {
      const token = await readToken(link, serviceName);
      isReached = true;
      result = await refreshRecord(link, token, request.reason);
    } catch (error) {
      isReached ||= isAnswered(error);
      result = outcomeOfFailure(error);
    }
    if (isReached) await audit.record(refreshEvent(vaultId, serviceName, request, result));
    return result;
  };

  return {
    refresh: async (vaultId, serviceName, request) => {
      const key = `${vaultId} ${serviceName}`;
      const known = inFlight.get(key);
      if (known !== undefined) {
        const result = await known;
        // Hundreds of agents may wait for one refresh, which is one event. An owner's request has its own.
        if (request.userId !== undefined)
          await audit.record(refreshEvent(vaultId, serviceName, request, result));
        return result;
      }
      const failure = request.reason === 'expired' ? pause.failureOf(key) : undefined;
      if (failure !== undefined) return failure;
      const started = attempt(vaultId, serviceName, request)
        .then((result) => {
          if (PAUSING_OUTCOMES.has(result.outcome)) pause.record(key, result);
          if (result.outcome === 'refreshed') pause.record(key, undefined);
          return result;
        })
        .finally(() => inFlight.delete(key));
      inFlight.set(key, started);
      return started;
    },
  };
}

const isAnswered = (error: unknown): boolean =>
  error instanceof WebhookCallFailed && (error.failure === 'refused' || error.failure === 'garbage');
