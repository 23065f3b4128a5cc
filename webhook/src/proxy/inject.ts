import {
  type EndSignal,
  type HeaderPairs,
  type ProxyTicket,
  fillMarkers,
  isFieldValue,
  isShortSecret,
  markersIn,
  requestFieldsThatTravel,
  withInjectedFields,
} from '@svault/shared';
import {
  type DestinationProblem,
  type ProxyConfig,
  allowedHostFor,
  destinationProblem,
  proxyFailureText,
} from '@svault/shared/schemas';
import type { CurrentCredential } from '../delivery/current-credential.ts';
import { ApiError } from '../errors.ts';
import type { OpenRecord } from '../vault/vault.ts';
import type { UpstreamCall } from './forward.ts';

/** Of all templates together: no credential needs more, and each marker repeats the credential. */
const MAX_CHARACTERS = 128 * 1024;

type Headers = ReadonlyMap<string, string>;

/**
 * Fills the markers of the templates with the credential (PROTOCOL.md section 5.6).
 *
 * @returns values by lower-case names; undefined if one is no legal field value, or all together are too long
 */
export function injectToken(
  headerTemplates: Readonly<Record<string, string>>,
  token: string,
): Headers | undefined {
  const templates = Object.entries(headerTemplates);
  const characters = templates.map(([, value]) => value.length + markersIn(value) * token.length);
  if (characters.reduce((sum, length) => sum + length, 0) > MAX_CHARACTERS) return undefined;
  const headers = new Map<string, string>();
  for (const [name, template] of templates) {
    const value = fillMarkers(template, token);
    if (!isFieldValue(value)) return undefined;
    headers.set(name.toLowerCase(), value);
  }
  return headers;
}

/** What may be sent, and where. */
export interface PreparedCall {
  readonly config: ProxyConfig;
  readonly version: number;
  /** Only to find it again in the answer. */
  readonly token: string;
  readonly headers: Headers;
}

/**
 * Fills the templates.
 *
 * @param config which {@link mustAllowDestination} allowed for the credential's record
 * @throws ApiError NOT_INJECTABLE
 */
export function prepareInjection(
  config: ProxyConfig,
  { record, accessToken }: CurrentCredential,
): PreparedCall {
  const token = accessToken.reveal();
  if (record.settings.allowShortSecret !== true && isShortSecret(token))
    throw new ApiError(
      'NOT_INJECTABLE',
      'The credential has less than 80 bits, so that those who use the proxy could find it out. Store it again with `allowShortSecret: true` to accept that.',
      { reason: 'short_secret' },
    );
  const headers = injectToken(config.headerTemplates, token);
  if (headers === undefined)
    throw new ApiError('NOT_INJECTABLE', 'the credential cannot stand in a header as the proxy asks for it');
  return { config, version: record.version, token, headers };
}

/** @throws ApiError DESTINATION_NOT_ALLOWED */
export function mustAllowDestination(config: ProxyConfig, { settings }: OpenRecord): void {
  const problem = destinationProblem(config, settings);
  if (problem !== undefined) throw destinationNotAllowed(problem, config);
}

/** For the caller the cause in words, for the log the entry or header that is missing. */
export function destinationNotAllowed(problem: DestinationProblem, config: ProxyConfig): ApiError {
  const missing = missingIn(problem, config);
  return new ApiError('DESTINATION_NOT_ALLOWED', proxyFailureText(problem, config), {
    reason: missing === undefined ? problem.cause : `${problem.cause}: ${missing}`,
    details: problem,
  });
}

function missingIn(problem: DestinationProblem, { upstreamUrl }: ProxyConfig): string | undefined {
  if (problem.cause === 'host') return allowedHostFor(new URL(upstreamUrl));
  return problem.cause === 'header' ? problem.header : undefined;
}

/** The agent's request as the upstream gets it: its own fields, without those that end here, and the injected ones. */
export function upstreamCall(
  request: {
    readonly ticket: ProxyTicket;
    readonly fields: HeaderPairs;
    readonly body: Uint8Array;
    readonly signal: EndSignal;
  },
  { config, headers: injected }: PreparedCall,
): Omit<UpstreamCall, 'waitedMs'> {
  const { ticket, fields, body, signal } = request;
  const headers = new Map<string, string>();
  for (const [name, value] of requestFieldsThatTravel(fields)) {
    // RFC 9110 section 5.3: lines of one name are one list.
    const former = headers.get(name);
    headers.set(name, former === undefined ? value : `${former}, ${value}`);
  }
  return {
    method: ticket.htm,
    url: config.upstreamUrl,
    headers: {
      ...Object.fromEntries(withInjectedFields([...headers], [...injected])),
      'accept-encoding': 'identity',
    },
    ...(body.byteLength > 0 && { body }),
    partition: ticket.prx,
    signal,
  };
}
