import type { ErrorDescription } from './error-description.ts';

/** Every code that a webhook sends (PROTOCOL.md, ERR-01). Closed. */
export const WEBHOOK_ERRORS = {
  INVALID_REQUEST: {
    statuses: [400],
    meaning: 'The body is no JSON object of the shape that this endpoint takes.',
    remedy: 'Read the message: it names what is wrong. Unknown members are refused where a secret is stored.',
  },
  SECRET_FIELD: {
    statuses: [400],
    meaning: 'A metadata operation carried a member that could hold a secret.',
    remedy: 'Send the secret to the webhook with a store ticket; the control plane never carries one.',
  },
  SIGNATURE_INVALID: {
    statuses: [401],
    meaning: 'The request is not signed with a key of the binding, is too old, or was sent before.',
    remedy:
      'Compare the clocks of control plane and webhook (30 seconds are allowed), then the binding. The webhook’s log has the reason.',
  },
  TICKET_INVALID: {
    statuses: [401],
    meaning: 'The ticket is used up, too old, for something else, or was not signed by the bound service.',
    remedy: 'Ask the control plane for a new one: a ticket works once, and for about a minute.',
  },
  DESTINATION_NOT_ALLOWED: {
    statuses: [403],
    meaning:
      'The credential may not be sent to that host by that scheme, or in that header or query parameter, or the webhook may not call that address. The message names which, and so does a warning in the webhook’s log.',
    remedy:
      'A host, header or parameter: store it again with svault set NAME --allow-host HOST --allow-header HEADER --allow-query NAME; HOST means https, write http://HOST:PORT for plain http. An address that is not public, or plain http: the operator of the webhook names it in SV_EGRESS_ALLOW as well.',
  },
  REQUEST_NOT_ALLOWED: {
    statuses: [403],
    meaning:
      'The credential was stored with rules for what may be asked with it, and none of them allows this request, or the request could be read in two ways, or names the parameter that the credential goes into. The message says which.',
    remedy:
      'svault show NAME lists the rules; svault set NAME --allow-request RULE stores the credential again with others. A request with two readings is denied whatever the rules are: send it in its plain form.',
  },
  DELIVERY_NOT_ALLOWED: {
    statuses: [403],
    meaning: 'The credential was stored so that it is not handed out in this way.',
    remedy:
      'A proxy-only credential is used through a proxy; a sealed one is fetched with a key it was sealed for.',
  },
  APPROVAL_REQUIRED: {
    statuses: [403],
    meaning:
      'The credential was stored so that a person approves each use of it, and nobody has approved this one.',
    remedy:
      'Open the address in approval.url, decide there with a passkey, and send the very same request again. An approval holds for 15 minutes and is used up by one use.',
  },
  ORIGIN_NOT_ALLOWED: {
    statuses: [403],
    meaning: 'A web page of another origin than the bound service tried to store a credential.',
    remedy: 'Store from the control plane’s console or from this client.',
  },
  SETUP_REQUIRED: {
    statuses: [403],
    meaning: 'The webhook is bound already; its set-up page is closed.',
    remedy:
      'To bind it again, run unseal-bind on the webhook’s machine. That erases the present binding’s keys.',
  },
  NOT_FOUND: {
    statuses: [404],
    meaning: 'The webhook stores nothing under that name.',
    remedy: 'A grant can name a credential that was never stored. Store it, or check the spelling.',
  },
  METHOD_NOT_ALLOWED: {
    statuses: [405],
    meaning: 'The endpoint does not have that method.',
    remedy: 'The Allow header names those it has.',
  },
  VERSION_CONFLICT: {
    statuses: [409],
    meaning: 'The record was changed, or made, in the meantime.',
    remedy: 'Look at what is stored now, then decide again.',
  },
  CHECKPOINT_CONFLICT: {
    statuses: [409],
    meaning:
      'The control plane’s audit log does not continue the one that the webhook has cosigned: events were changed or removed, or the control plane has another key.',
    remedy:
      'Find out why before anything else: the members size and hash are what the webhook cosigned last. Where the control plane was restored from a backup, run svault-run webhook audit reset-checkpoints on the webhook’s machine.',
  },
  REFRESH_BUSY: {
    statuses: [409],
    meaning: 'The token is being refreshed at this moment.',
    remedy: 'Wait for the seconds in Retry-After.',
  },
  REFRESH_NEEDED: {
    statuses: [409],
    meaning: 'The token has expired, and only the control plane can authenticate the refresh.',
    remedy: 'Wait for the seconds in Retry-After; the control plane refreshes it.',
  },
  LEASE_EXPIRED: {
    statuses: [409],
    meaning: 'The refresh took longer than it was given, or the webhook restarted.',
    remedy: 'Start the refresh anew.',
  },
  CODE_USED: {
    statuses: [410],
    meaning: 'The registration code was used already.',
    remedy: 'Make a new link at the webhook (bind-link). If nobody of yours used it, unbind at once.',
  },
  CODE_EXPIRED: {
    statuses: [410],
    meaning: 'The registration code is older than five minutes.',
    remedy: 'Make a new link at the webhook (bind-link).',
  },
  TOO_LARGE: {
    statuses: [413],
    meaning: 'The body is larger than the webhook takes.',
    remedy: 'A secret field has at most 64 KiB, a request 1 MiB, a proxied one 8 MiB.',
  },
  EMPTY_TOKEN: {
    statuses: [422],
    meaning: 'The record exists and holds no value.',
    remedy: 'Store one: svault set NAME.',
  },
  MINT_FAILED: {
    statuses: [422],
    meaning: 'A short-lived credential could not be made from the stored one.',
    remedy: 'The provider refused; check that the stored credential still holds there.',
  },
  NOT_INJECTABLE: {
    statuses: [422],
    meaning:
      'The credential holds characters that no header field may carry, or it has less than 80 bits and was stored without allowShortSecret.',
    remedy:
      'Store it without line breaks and other control characters. A code, a PIN or a password of under 16 characters is injected once it is stored with svault set NAME --allow-short-secret; who may use the proxy may then find it out.',
  },
  NOT_REFRESHABLE: {
    statuses: [422],
    meaning: 'The token was stored without a refresh token or without its provider.',
    remedy: 'Store it again with both.',
  },
  REAUTH_NEEDED: {
    statuses: [422],
    meaning: 'The provider no longer accepts the stored refresh token.',
    remedy: 'Sign in at the provider again and store the new token.',
  },
  RATE_LIMITED: {
    statuses: [429],
    meaning: 'Too many requests.',
    remedy: 'Wait for the seconds in Retry-After.',
  },
  INTERNAL: {
    statuses: [500],
    meaning: 'The webhook failed in a way that it does not explain.',
    remedy: 'Look for the request id in its log.',
  },
  UPSTREAM_ERROR: {
    statuses: [502],
    meaning:
      'The service behind a proxy gave no answer. The message names its host and why: its name did not resolve, it refused the connection, its certificate does not verify, the connection was cut, its redirects could not be followed.',
    remedy:
      'Check the proxy’s upstreamUrl with svault proxies list --format wide, and call it from the machine of the webhook.',
  },
  PROVIDER_ERROR: {
    statuses: [502],
    meaning: 'The provider of the token failed while it was being refreshed.',
    remedy: 'Try again later.',
  },
  UNAVAILABLE: {
    statuses: [503],
    meaning: 'The webhook cannot write at the moment, and hands nothing out that it could not record.',
    remedy: 'Check its disk. It heals by itself.',
  },
  UPSTREAM_TIMEOUT: {
    statuses: [504],
    meaning: 'The service behind a proxy did not answer in time.',
    remedy: 'Try again later.',
  },
  PROVIDER_TIMEOUT: {
    statuses: [504],
    meaning: 'The provider of the token did not answer in time.',
    remedy: 'Try again later.',
  },
} as const satisfies Readonly<Record<string, ErrorDescription>>;
