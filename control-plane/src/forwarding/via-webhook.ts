import type { Logger } from '@svault/server-kit/logger';
import { WEBHOOK_ERROR_STATUS, type WebhookErrorCode, isWebhookErrorCode } from '@svault/shared';
import { requestDenialText } from '@svault/shared/request-rules';
import { callFailureText, proxyFailureText } from '@svault/shared/schemas';
import type { WebhookLinkStore } from '../core/webhook-link.ts';
import type { RefreshResult, TokenRefresh } from '../refresh/refresh-result.ts';
import { WebhookCallFailed } from '../webhook/call-failed.ts';
import { RETRY_AFTER_SECONDS } from '../webhook/outages.ts';
import type { SignatureAlarm } from '../webhook/signature-alarm.ts';
import { type ProxyConfigDelivery, UnsupportedProxy, deliveryMark } from './proxy-config-sync.ts';
import type { OpenApproval } from '../core/approval.ts';
import { APPROVAL_RETRY_SECONDS, approvalRequiredText } from '../access/approved-use.ts';
import type { ProxyApprovals } from './proxy-approvals.ts';
import type { Forward, ForwardRefusal, ProxyExchange, WebhookUse } from './exchange.ts';
import type { ProxyAnswer, ProxyCall } from './proxy-call.ts';

/**
 * Forwards for `Token` proxies: through the webhook, which injects the credential (PROTOCOL.md section 5.6). Delivers the
 * proxy's settings first where the webhook does not have them. A token that only the control plane can refresh is refreshed
 * and the call made once more (PRX-11), and so is one that was approved at the webhook meanwhile; nothing else is retried.
 * After each wait the use is checked again before it is signed.
 */
export function createWebhookForward(options: {
  readonly call: ProxyCall;
  readonly links: Pick<WebhookLinkStore, 'find'>;
  readonly configs: ProxyConfigDelivery;
  readonly refresh: TokenRefresh;
  readonly approvals: ProxyApprovals;
  readonly signatureAlarm: SignatureAlarm;
  readonly logger: Logger;
}): Forward<WebhookUse> {
  const { call, links, configs, refresh, approvals, signatureAlarm, logger } = options;

  const unavailable = (): ForwardRefusal => ({
    status: 502,
    code: 'WEBHOOK_UNAVAILABLE',
    error: 'The webhook of this vault cannot be reached; try again later.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

  /** @returns undefined where the webhook has the settings that were decided about */
  const deliver = async (
    use: WebhookUse,
    { durable, recheck }: ProxyExchange,
  ): Promise<ForwardRefusal | undefined> => {
    const { vaultId, webhook, config } = use;
    if (config.deliveredAs === deliveryMark(webhook.webhookId, config.revision)) return undefined;
    await durable;
    const link = await links.find(vaultId);
    // Another webhook is bound than the one that was decided about.
    if (link?.webhookId !== webhook.webhookId) return unavailable();
    try {
      await configs.ensure(link, config);
    } catch (error) {
      if (error instanceof UnsupportedProxy) return unsupported(error);
      if (!(error instanceof WebhookCallFailed)) throw error;
      logger.warn(
        { vaultId, proxyId: config.proxyId, err: error },
        'the settings of a proxy could not be delivered to its webhook',
      );
      const { code } = error;
      return isWebhookErrorCode(code) && WEBHOOK_ERROR_STATUS[code] !== 401 ? refusedAs(code) : unavailable();
    }
    await recheck();
    return undefined;
  };

  const refusalFor = async (use: WebhookUse, answer: ProxyAnswer): Promise<ForwardRefusal | undefined> => {
    const { vaultId, proxyId } = use;
    if (answer.kind === 'finished') return undefined;
    if (answer.kind === 'unavailable') {
      logger.warn({ vaultId, proxyId, why: answer.why }, 'a webhook did not answer /v1/proxy');
      return unavailable();
    }
    const { code, failure, retryAfterSeconds } = answer;
    if (WEBHOOK_ERROR_STATUS[code] === 401) {
      signatureAlarm(vaultId, { proxyId, code });
      return unavailable();
    }
    // The proxy or its token: delivering the settings once more is harmless.
    if (code === 'NOT_FOUND') await configs.forgetDelivery(vaultId, proxyId);
    const refusal = refusedAs(code, retryAfterSeconds);
    if (!EXPLAINED.has(code)) return refusal;
    return {
      ...refusal,
      error: failure ? proxyFailureText(failure, use.config) : unexplained(code, use.config),
    };
  };

  return async (use, exchange, take) => {
    const undelivered = await deliver(use, exchange);
    if (undelivered !== undefined || exchange.signal.aborted) return undelivered;
    const refreshed = async (): Promise<ForwardRefusal | undefined> => {
      await exchange.durable;
      const { vaultId, proxyId, config, origin } = use;
      const why = { reason: 'expired', proxyId, origin } as const;
      const result = await refresh.refresh(vaultId, config.serviceName, why);
      if (result.outcome === 'webhook_unavailable') return unavailable();
      return result.outcome === 'refreshed' ? undefined : refusedBy(result);
    };
    const approved = async (): Promise<ForwardRefusal | undefined> => {
      await exchange.durable;
      const verdict = await approvals.approve(use, exchange);
      switch (verdict.kind) {
        case 'approved':
          return undefined;
        case 'unavailable':
          return unavailable();
        case 'refused':
          return refusedAs('APPROVAL_REQUIRED');
        case 'open':
          return notApproved(verdict.open);
      }
    };
    // What a refusal needs before the call can be made once more: each of them once.
    const needed = new Map([
      ['REFRESH_NEEDED', refreshed],
      ['APPROVAL_REQUIRED', approved],
    ]);
    for (let attempt = 1; ; attempt++) {
      const answer = await call(ofAttempt(use, attempt), exchange, take);
      const mend = answer.kind === 'refused' ? needed.get(answer.code) : undefined;
      if (answer.kind !== 'refused' || mend === undefined) return refusalFor(use, answer);
      needed.delete(answer.code);
      const refusal = await mend();
      if (refusal !== undefined) return refusal;
      await exchange.recheck();
      if (exchange.signal.aborted) return undefined;
    }
  };
}

/** PROTOCOL.md TIX-38: no ticket is used twice. */
const ofAttempt = (use: WebhookUse, attempt: number): WebhookUse =>
  attempt === 1
    ? use
    : { ...use, origin: { ...use.origin, requestId: `${use.origin.requestId}-${attempt}` } };

const notApproved = (approval: OpenApproval | undefined): ForwardRefusal => ({
  ...{ status: WEBHOOK_ERROR_STATUS.APPROVAL_REQUIRED, code: 'APPROVAL_REQUIRED' },
  ...{ error: approvalRequiredText(approval), approval, retryAfterSeconds: APPROVAL_RETRY_SECONDS },
});

const unsupported = ({ capability }: UnsupportedProxy): ForwardRefusal => ({
  status: 502,
  code: 'WEBHOOK_UNAVAILABLE',
  error: `The webhook of this vault does not support this kind of proxy (\`${capability}\`) yet. Its operator has to update it.`,
});

/** PROTOCOL.md PRX-32: these keep their status, as a denial of what the agent asked does; all others become 502. */
const KEPT_STATUSES: ReadonlySet<number> = new Set([413, 429, 504]);
const KEPT_CODES: ReadonlySet<WebhookErrorCode> = new Set(['REQUEST_NOT_ALLOWED', 'APPROVAL_REQUIRED']);

function refusedAs(code: WebhookErrorCode, retryAfterSeconds?: number): ForwardRefusal {
  const status = WEBHOOK_ERROR_STATUS[code];
  const isKept = KEPT_STATUSES.has(status) || KEPT_CODES.has(code);
  return {
    status: isKept ? status : 502,
    code,
    error: messageOf(code),
    retryAfterSeconds: code === 'RATE_LIMITED' ? (retryAfterSeconds ?? 1) : retryAfterSeconds,
  };
}

/** PROTOCOL.md section 5.4: `Retry-After` where only the control plane can refresh. */
const REFRESH_RETRY_SECONDS = 5;

type NotRefreshed = Exclude<RefreshResult, { readonly outcome: 'refreshed' | 'webhook_unavailable' }>;

const REFRESH_REFUSALS: Readonly<Record<NotRefreshed['outcome'], WebhookErrorCode>> = {
  limited: 'RATE_LIMITED',
  busy: 'REFRESH_NEEDED',
  accepted: 'REFRESH_NEEDED',
  provider_not_configured: 'REFRESH_NEEDED',
  not_refreshable: 'NOT_REFRESHABLE',
  reauth_needed: 'REAUTH_NEEDED',
  failed: 'PROVIDER_ERROR',
};

function refusedBy(result: NotRefreshed): ForwardRefusal {
  const code = REFRESH_REFUSALS[result.outcome];
  if ('retryAfterSeconds' in result) return refusedAs(code, result.retryAfterSeconds);
  return refusedAs(code, code === 'REFRESH_NEEDED' ? REFRESH_RETRY_SECONDS : undefined);
}

/** PROTOCOL.md PRX-50: of these a webhook may say the cause. */
const EXPLAINED: ReadonlySet<WebhookErrorCode> = new Set([
  'DESTINATION_NOT_ALLOWED',
  'REQUEST_NOT_ALLOWED',
  'UPSTREAM_ERROR',
  'UPSTREAM_TIMEOUT',
]);

/** Of a webhook that does not say the cause. */
function unexplained(code: WebhookErrorCode, { serviceName, upstreamUrl }: WebhookUse['config']): string {
  const { host } = new URL(upstreamUrl);
  if (code === 'REQUEST_NOT_ALLOWED') return requestDenialText('rule', serviceName);
  if (code === 'UPSTREAM_TIMEOUT') return callFailureText('timeout', upstreamUrl);
  if (code === 'UPSTREAM_ERROR') return `The webhook got no answer from ${host}; try again later.`;
  return `The credential ${serviceName} may not be sent to ${host} by this scheme, not in the header of this proxy, or the webhook may not call it. Its owner finds the reason in the webhook’s log.`;
}

/**
 * What an agent reads about a webhook's refusals, with who can help. The webhook's own texts are not passed on, since they
 * could tell more than a caller may know.
 */
const MESSAGES: Readonly<Partial<Record<WebhookErrorCode, string>>> = {
  NOT_FOUND:
    'The webhook has no credential for this proxy. Its owner has to store one under the service’s name.',
  NOT_INJECTABLE:
    'The credential cannot stand in a header as this proxy asks for it, or it has less than 80 bits and was stored without allowShortSecret. Its owner has to look at both.',
  EMPTY_TOKEN: 'The credential is empty. Its owner stores one with svault set NAME.',
  REAUTH_NEEDED: 'The credential has expired for good. Its owner has to authorise anew and store it.',
  NOT_REFRESHABLE: 'The credential has expired and cannot be refreshed. Its owner has to store it anew.',
  REFRESH_NEEDED: 'The credential has expired and is not refreshed yet; try again later.',
  REFRESH_BUSY: 'The credential is being refreshed; try again.',
  VERSION_CONFLICT: 'The credential was replaced at this moment; try again.',
  PROVIDER_ERROR: 'The credential has expired and its provider did not refresh it; try again later.',
  PROVIDER_TIMEOUT: 'The credential’s provider did not answer in time; try again later.',
  MINT_FAILED:
    'The provider gave no credential. The owner of the credential sees the reason with svault get.',
  TOO_LARGE: 'The request is too large for the webhook.',
  RATE_LIMITED: 'Too many requests; try again later.',
  UNAVAILABLE: 'The webhook cannot do this now; try again later.',
};

const messageOf = (code: WebhookErrorCode): string =>
  MESSAGES[code] ?? `The webhook refused this request: ${code}. Its owner finds the reason in its log.`;
