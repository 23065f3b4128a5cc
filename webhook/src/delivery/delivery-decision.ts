import { type CredentialTicket, type WebhookErrorCode, parseTime } from '@svault/shared';
import type { Recipient } from '@svault/shared/schemas';
import type { SealedSettings } from '../vault/record.ts';
import { thumbprint } from '../vault/recipients.ts';

/** Protocol section 5.4: expired means that the expiry is at most this far away. */
const EXPIRY_MARGIN_MS = 30_000;
/** Protocol section 5.4, `REFRESH_NEEDED`. */
const REFRESH_RETRY_SECONDS = 5;

export type DeliveryDecision =
  | { readonly how: 'plain' }
  | { readonly how: 'sealed'; readonly recipient: Recipient; readonly thumbprint: string }
  | Refused;

export interface Refused {
  readonly how: 'refused';
  readonly code: WebhookErrorCode;
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

/**
 * How a record leaves for a ticket, by what was sealed with it; the ticket has no say but which recipient.
 *
 * @param settings of the record; undefined where there is none of that name
 */
export function decideDelivery(
  settings: SealedSettings | undefined,
  ticket: Pick<CredentialTicket, 'cnf'>,
  nowMs: number,
): DeliveryDecision {
  if (settings === undefined) return refused('NOT_FOUND', 'there is no credential of that name');
  const outlet = chooseOutlet(settings, ticket.cnf?.jkt);
  if (outlet.how === 'refused') return outlet;
  if (settings.empty) return refused('EMPTY_TOKEN', 'the credential is empty');
  return expiryRefusal(settings, nowMs) ?? outlet;
}

function chooseOutlet(settings: SealedSettings, jkt: string | undefined): DeliveryDecision {
  switch (settings.delivery) {
    case 'any':
      return { how: 'plain' };
    case 'proxy-only':
      return refused('DELIVERY_NOT_ALLOWED', 'this credential is used through a proxy only');
    case 'sealed': {
      const recipient = settings.recipients?.find((candidate) => thumbprint(candidate) === jkt);
      if (recipient === undefined || jkt === undefined)
        return refused('DELIVERY_NOT_ALLOWED', 'this credential is delivered only to its own recipients');
      return { how: 'sealed', recipient, thumbprint: jkt };
    }
  }
}

/**
 * Protocol section 5.4: an expired token goes out only where nothing could refresh it. This webhook does not call
 * providers yet (it claims neither `refresh-notify` nor `sv-refresh`), so what it would refresh itself is the failed
 * refresh that the section names, never an expired token.
 */
function expiryRefusal(settings: SealedSettings, nowMs: number): Refused | undefined {
  const { expiryTime, provider, hasRefreshToken } = settings;
  const expiryMs = expiryTime === undefined ? undefined : parseTime(expiryTime);
  if (expiryMs === undefined || expiryMs - nowMs > EXPIRY_MARGIN_MS) return undefined;
  if (provider === undefined || !hasRefreshToken) return undefined;
  if (provider.mediated)
    return {
      ...refused('REFRESH_NEEDED', 'the token has expired and the service has to refresh it'),
      retryAfterSeconds: REFRESH_RETRY_SECONDS,
    };
  return refused('PROVIDER_ERROR', 'the token has expired and could not be refreshed');
}

function refused(code: WebhookErrorCode, message: string): Refused {
  return { how: 'refused', code, message };
}
