import type { Logger } from '@svault/server-kit/logger';
import { WEBHOOK_ERROR_STATUS, type WebhookErrorCode, isWebhookErrorCode } from '@svault/shared';
import type { WebhookLinkStore } from '../core/webhook-link.ts';
import type { RefreshResult, TokenRefresh } from '../refresh/refresh-result.ts';
import { WebhookCallFailed } from '../webhook/call-failed.ts';
import { RETRY_AFTER_SECONDS } from '../webhook/outages.ts';
import { type ProxyConfigDelivery, deliveryMark } from './proxy-config-sync.ts';
import type { Forward, ForwardRefusal, WebhookUse } from './exchange.ts';
import type { ProxyAnswer, ProxyCall } from './proxy-call.ts';

export interface WebhookForwardDependencies {
  readonly call: ProxyCall;
  readonly links: Pick<WebhookLinkStore, 'find'>;
  /** @throws AppError where a use may not go on any more (`recheck.ts`) */
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

/**
 * What an agent is told of a webhook's refusals, and whom to turn to: in our words, since what a webhook writes could say
 * more than a caller may know.
 */
const MESSAGES: Readonly<Partial<Record<WebhookErrorCode, string>>> = {
  NOT_FOUND:
    'The webhook has no credential for this proxy. Its owner has to store one under the service’s name.',
  DESTINATION_NOT_ALLOWED:
    'The credential may not be used at this upstream (scheme, host and port), or in this header. Its owner has to store it again with both allowed: svault set NAME --allow-host HOST, or http://HOST:PORT for plain http.',
  NOT_INJECTABLE:
    'The credential cannot stand in a header as this proxy asks for it, or it has less than 80 bits and was stored without allowShortSecret. Its owner has to look at both.',
  EMPTY_TOKEN: 'The credential is empty. Its owner has to store one.',
  REAUTH_NEEDED: 'The credential has expired for good. Its owner has to authorise anew and store it.',
  NOT_REFRESHABLE: 'The credential has expired and cannot be refreshed. Its owner has to store it anew.',
  REFRESH_NEEDED: 'The credential has expired and is not refreshed yet; try again later.',
  REFRESH_BUSY: 'The credential is being refreshed; try again.',
  VERSION_CONFLICT: 'The credential was replaced at this moment; try again.',
  PROVIDER_ERROR: 'The credential has expired and its provider did not refresh it; try again later.',
  PROVIDER_TIMEOUT: 'The credential’s provider did not answer in time; try again later.',
  MINT_FAILED: 'The credential could not be made. The log of the owner’s webhook has the reason.',
  UPSTREAM_ERROR: 'The upstream gave no answer; try again later.',
  UPSTREAM_TIMEOUT: 'The upstream did not answer in time; try again later.',
  TOO_LARGE: 'The request is too large for the webhook.',
  RATE_LIMITED: 'Too many requests; try again later.',
  UNAVAILABLE: 'The webhook cannot do this now; try again later.',
};

export const messageOf = (code: WebhookErrorCode): string =>
  MESSAGES[code] ?? `The webhook refused this request: ${code}. Its owner finds the reason in its log.`;
