import type { Logger } from '@svault/server-kit/logger';
import { WEBHOOK_ERROR_STATUS, type WebhookErrorCode, isWebhookErrorCode } from '@svault/shared';
import { type ProxyConfigDelivery, deliveryMark } from './config-delivery.ts';
import type { RefreshResult, TokenRefresh } from '../refresh/refresh-result.ts';
import { RETRY_AFTER_SECONDS } from '../webhook/online-status.ts';
import { WebhookCallFailed } from '../webhook/webhook-call-failed.ts';
import type { WebhookLinkStore } from '../core/webhook-link-store.ts';
import type { Forward, ForwardRefusal, WebhookUse } from './forward.ts';
import type { ProxyAnswer, ProxyCall } from './proxy-call.ts';
import { messageOf } from './refusal-messages.ts';

export interface WebhookForwardDependencies {
  readonly call: ProxyCall;
  readonly links: Pick<WebhookLinkStore, 'find'>;
  /** @throws AppError where a use may not go on any more (`fallen-use.ts`) */
  readonly refuseFallen: (use: WebhookUse) => Promise<void>;
  readonly configs: ProxyConfigDelivery;
  readonly refresh: TokenRefresh;
  readonly logger: Logger;
}

/**
 * `Token` proxies: by way of the webhook, which puts the credential in (protocol.md 5.6). The proxy's settings are given to
 * it first where it does not have them; a token that only this service can refresh is refreshed, and the call made once
 * more; nothing else is ever repeated. Behind either wait nothing is signed for what was taken away meanwhile.
 *
 * The forward throws what `refuseFallen` throws.
 */
export function createWebhookForward(dependencies: WebhookForwardDependencies): Forward<WebhookUse> {
  const { call, links, refuseFallen, configs, refresh, logger } = dependencies;

  const unavailable = (): ForwardRefusal => ({
    status: 502,
    code: 'WEBHOOK_UNAVAILABLE',
    error: 'The webhook of this vault cannot be reached; try again later.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

  /** @returns undefined where the webhook has the settings that the decision was made about */
  const deliver = async (use: WebhookUse): Promise<ForwardRefusal | undefined> => {
    const { vaultId, webhook, config } = use;
    if (config.deliveredAs === deliveryMark(webhook.webhookId, config.revision)) return undefined;
    const link = await links.find(vaultId);
    // Bound anew a moment ago: what was decided was decided about the other one.
    if (link?.webhookId !== webhook.webhookId) return unavailable();
    try {
      await configs.ensure(link, config);
    } catch (error) {
      if (!(error instanceof WebhookCallFailed)) throw error;
      logger.warn(
        { vaultId, proxyId: config.proxyId, err: error },
        'a proxy could not be given to its webhook',
      );
      const { code } = error;
      return isWebhookErrorCode(code) && WEBHOOK_ERROR_STATUS[code] !== 401 ? refusedAs(code) : unavailable();
    }
    await refuseFallen(use);
    return undefined;
  };

  const refreshed = async ({ vaultId, proxyId, config }: WebhookUse): Promise<RefreshResult> =>
    refresh.refresh(vaultId, config.serviceName, { reason: 'expired', proxyId });

  const answerTo = async (use: WebhookUse, answer: ProxyAnswer): Promise<ForwardRefusal | undefined> => {
    const { vaultId, proxyId } = use;
    if (answer.kind === 'over') return undefined;
    if (answer.kind === 'unavailable') {
      logger.warn({ vaultId, proxyId, why: answer.why }, 'a webhook did not answer /v1/proxy');
      return unavailable();
    }
    const { code, retryAfterSeconds } = answer;
    if (WEBHOOK_ERROR_STATUS[code] === 401) {
      logger.error({ vaultId, proxyId, code }, 'a webhook refuses what this service signs');
      return unavailable();
    }
    // Of the proxy, or of its token: then giving the settings once more does no harm.
    if (code === 'NOT_FOUND') await configs.forgetDelivery(vaultId, proxyId);
    return refusedAs(code, retryAfterSeconds);
  };

  return async (use, exchange, take) => {
    const undelivered = await deliver(use);
    if (undelivered !== undefined) return undelivered;
    const first = await call(use, exchange, take);
    if (first.kind !== 'refused' || first.code !== 'REFRESH_NEEDED') return answerTo(use, first);
    const result = await refreshed(use);
    if (result.outcome !== 'refreshed') return refusedBy(result) ?? unavailable();
    if (exchange.signal.aborted) return undefined;
    await refuseFallen(use);
    return answerTo(use, await call(use, exchange, take));
  };
}

/** protocol.md 5.6: these keep their status; all others are a bad gateway's. */
const KEPT_STATUSES: ReadonlySet<number> = new Set([413, 429, 504]);

function refusedAs(code: WebhookErrorCode, retryAfterSeconds?: number): ForwardRefusal {
  const own = WEBHOOK_ERROR_STATUS[code];
  return {
    status: KEPT_STATUSES.has(own) ? own : 502,
    code,
    error: messageOf(code),
    retryAfterSeconds: code === 'RATE_LIMITED' ? (retryAfterSeconds ?? 1) : retryAfterSeconds,
  };
}

/** protocol.md 5.4: when asking again makes sense, where only the service can refresh. */
const REFRESH_RETRY_SECONDS = 5;

/** @returns undefined where the webhook could not be asked */
function refusedBy(
  result: Exclude<RefreshResult, { readonly outcome: 'refreshed' }>,
): ForwardRefusal | undefined {
  switch (result.outcome) {
    case 'limited':
      return refusedAs('RATE_LIMITED', result.retryAfterSeconds);
    case 'busy':
      return refusedAs('REFRESH_NEEDED', result.retryAfterSeconds);
    case 'accepted':
    case 'provider_not_configured':
      return refusedAs('REFRESH_NEEDED', REFRESH_RETRY_SECONDS);
    case 'not_refreshable':
      return refusedAs('NOT_REFRESHABLE');
    case 'reauth_needed':
      return refusedAs('REAUTH_NEEDED');
    case 'failed':
      return refusedAs('PROVIDER_ERROR');
    case 'webhook_unavailable':
      return undefined;
  }
}
