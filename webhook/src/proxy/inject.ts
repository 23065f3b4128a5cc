import { withTraceHeaders } from '@svault/server-kit/tracing';
import {
  type AwsScope,
  type EndSignal,
  type HeaderPairs,
  type ProxyTicket,
  awsScope,
  fillMarkers,
  httpRequestFieldsThatTravel,
  isFieldValue,
  isShortSecret,
  markedNames,
  markersIn,
  requestFieldsThatTravel,
  upstreamTarget,
  withInjectedFields,
  withQuery,
} from '@svault/shared';
import type { ProxyConfig } from '@svault/shared/schemas';
import type { CurrentCredential } from '../delivery/current-credential.ts';
import { ApiError } from '../errors.ts';
import { type AwsKeys, awsKeysIn } from './aws-keys.ts';
import type { UpstreamCall } from './forward.ts';

/** Of all templates together: no credential needs more, and each marker repeats the credential. */
const MAX_CHARACTERS = 128 * 1024;
/** Longer than the request line that any server accepts. */
const MAX_QUERY_CHARACTERS = 16 * 1024;

type Headers = ReadonlyMap<string, string>;
type Templates = Readonly<Record<string, string>>;
/** Names and values before percent-encoding. */
type Parameters = readonly (readonly [name: string, value: string])[];

/**
 * Fills the markers of the templates with the credential (PROTOCOL.md section 5.6).
 *
 * @returns values by lower-case names; undefined if one is no legal field value, or all together are too long
 */
export function injectToken(headerTemplates: Templates, token: string): Headers | undefined {
  if (!fits(headerTemplates, token, MAX_CHARACTERS)) return undefined;
  const headers = new Map<string, string>();
  for (const [name, template] of Object.entries(headerTemplates)) {
    const value = fillMarkers(template, token);
    if (!isFieldValue(value)) return undefined;
    headers.set(name.toLowerCase(), value);
  }
  return headers;
}

/**
 * Fills the markers of the query templates (PROTOCOL.md section 5.8).
 *
 * @returns undefined if the credential is no legal field value, or all together are too long
 */
function injectQuery(queryTemplates: Templates, token: string): Parameters | undefined {
  if (!fits(queryTemplates, token, MAX_QUERY_CHARACTERS)) return undefined;
  return Object.entries(queryTemplates).map(([name, template]) => [name, fillMarkers(template, token)]);
}

/**
 * Checks length and characters before the markers are filled. This holds for `${BASIC:user}` too, whose base64 would hide
 * the control characters that RFC 7617 forbids.
 */
function fits(templates: Templates, token: string, maxCharacters: number): boolean {
  const values = Object.values(templates);
  const characters = values.map((value) => value.length + markersIn(value) * token.length);
  if (characters.reduce((sum, length) => sum + length, 0) > maxCharacters) return false;
  return isFieldValue(token) || values.every((value) => markersIn(value) === 0);
}

/** What may be sent, and where. */
export interface PreparedCall {
  readonly config: ProxyConfig;
  readonly version: number;
  /** Only for removing them from the answer. */
  readonly secrets: readonly string[];
  readonly headers: Headers;
  readonly parameters: Parameters;
  readonly signing?: Signing;
}

/** The keys and the scope of a call's signature (PROTOCOL.md section 5.9). */
export interface Signing {
  readonly keys: AwsKeys;
  readonly scope: AwsScope;
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
  const keys = awsKeysIn(token);
  const signing = signingOf(config, keys);
  const secrets = signing === undefined ? [token] : secretsOf(signing.keys);
  if (record.settings.allowShortSecret !== true && secrets.some(isShortSecret))
    throw new ApiError(
      'NOT_INJECTABLE',
      'The credential has less than 80 bits, so that those who use the proxy could find it out. Store it again with `allowShortSecret: true` to accept that.',
      { reason: 'short_secret' },
    );
  // Some services quote an `Authorization` that they cannot parse in the body of their answer.
  if (keys !== undefined && hasMarker(config))
    throw new ApiError(
      'NOT_INJECTABLE',
      'The credential is an access key of AWS, which signs requests and is never sent. Make it a proxy that signs, with `aws_sigv4`.',
      { reason: 'aws_keys' },
    );
  const headers = injectToken(config.headerTemplates, token);
  if (headers === undefined)
    throw new ApiError('NOT_INJECTABLE', 'the credential cannot stand in a header as the proxy asks for it');
  const parameters = injectQuery(config.queryTemplates ?? {}, token);
  if (parameters === undefined)
    throw new ApiError('NOT_INJECTABLE', 'the credential cannot stand in a query as the proxy asks for it');
  return { config, version: record.version, secrets, headers, parameters, ...(signing && { signing }) };
}

const hasMarker = ({ headerTemplates, queryTemplates = {} }: ProxyConfig): boolean =>
  [headerTemplates, queryTemplates].some((templates) => markedNames(templates).length > 0);

function signingOf({ signing, upstreamUrl }: ProxyConfig, keys: AwsKeys | undefined): Signing | undefined {
  if (signing === undefined) return undefined;
  if (keys === undefined)
    throw new ApiError(
      'NOT_INJECTABLE',
      'The credential is no access key of AWS: it must be JSON with `AccessKeyId` and `SecretAccessKey`, as a `credential_process` writes it, or made by `aws-sts`.',
      { reason: 'no_aws_keys' },
    );
  const scope = awsScope(signing, upstreamUrl);
  return scope && { keys, scope };
}

const secretsOf = ({ secretAccessKey, sessionToken }: AwsKeys): readonly string[] =>
  sessionToken === undefined ? [secretAccessKey] : [secretAccessKey, sessionToken];

/** The agent's request as the upstream gets it: its own fields, without those that end here, and the injected ones. */
export function upstreamCall(
  request: {
    readonly ticket: ProxyTicket;
    readonly target: string | undefined;
    readonly fields: HeaderPairs;
    readonly body: Uint8Array;
    readonly signal: EndSignal;
  },
  { config, headers: injected, parameters }: PreparedCall,
): Omit<UpstreamCall, 'waitedMs'> {
  const { ticket, target, fields, body, signal } = request;
  return {
    method: ticket.htm,
    url: config.upstreamUrl,
    ...(target !== undefined && {
      target: withQuery(upstreamTarget(config.upstreamUrl, target), parameters),
    }),
    headers: Object.fromEntries(upstreamFields(withTraceHeaders(fields), [...injected], config)),
    ...(body.byteLength > 0 && { body }),
    partition: ticket.prx,
    signal,
    followsRedirects: config.redirects === 'follow-without-credential',
  };
}

/**
 * The header of a call as the upstream gets it.
 * @param fields of the agent, as received
 * @param injected in the place of the agent's
 */
export function upstreamFields(
  fields: HeaderPairs,
  injected: HeaderPairs,
  { kind }: Pick<ProxyConfig, 'kind'>,
): HeaderPairs {
  const headers = new Map<string, string>();
  const travelling = kind === 'http' ? httpRequestFieldsThatTravel : requestFieldsThatTravel;
  for (const [name, value] of travelling(fields)) {
    // RFC 9110 section 5.3: lines of one name are one list.
    const former = headers.get(name);
    headers.set(name, former === undefined ? value : `${former}, ${value}`);
  }
  return [...withInjectedFields([...headers], injected), ['accept-encoding', 'identity']];
}
