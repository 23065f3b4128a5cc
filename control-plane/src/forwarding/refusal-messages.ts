import type { WebhookErrorCode } from '@svault/shared';

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
