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
import type { ProxyConfig } from '@svault/shared/schemas';
import type { CurrentCredential } from '../delivery/current-credential.ts';
import { ApiError } from '../errors.ts';
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
 * @param config which `mustAllowCall` allowed for the credential's record
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
  return {
    method: ticket.htm,
    url: config.upstreamUrl,
    headers: Object.fromEntries(upstreamFields(fields, [...injected])),
    ...(body.byteLength > 0 && { body }),
    partition: ticket.prx,
    signal,
  };
}

/**
 * The header of a call as the upstream gets it.
 * @param fields of the agent, as received
 * @param injected in the place of the agent's
 */
export function upstreamFields(fields: HeaderPairs, injected: HeaderPairs): HeaderPairs {
  const headers = new Map<string, string>();
  for (const [name, value] of requestFieldsThatTravel(fields)) {
    // RFC 9110 section 5.3: lines of one name are one list.
    const former = headers.get(name);
    headers.set(name, former === undefined ? value : `${former}, ${value}`);
  }
  return [...withInjectedFields([...headers], injected), ['accept-encoding', 'identity']];
}
