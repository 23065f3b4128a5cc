import { CODE_CHALLENGE_FORM } from '../sign-in/pkce.ts';

/** The parameters of a request; one without a value counts as omitted (RFC 6749 section 3.1). */
export interface RequestParameters {
  readonly get: (name: string) => string | undefined;
  readonly repeated: ReadonlySet<string>;
}

export function parametersOf(pairs: Iterable<readonly [string, string]>): RequestParameters {
  const values = new Map<string, string>();
  const repeated = new Set<string>();
  for (const [name, value] of pairs) {
    if (value === '') continue;
    if (values.has(name)) repeated.add(name);
    values.set(name, value);
  }
  return { get: (name) => values.get(name), repeated };
}

/** The client and the redirect URI of its response, as the request names them. */
export interface Addressee {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly state: string | undefined;
}

/** Why the error is shown to the user: no redirect goes to an address that is not known to be the client's. */
export type Unanswerable = 'repeated' | 'no_client_id' | 'no_redirect_uri' | 'malformed_state';

/** A longer one would not fit into the address of a page. */
const MAX_STATE_CHARACTERS = 4_096;
/** What cannot be sent back byte for byte: control characters, and replacements of bytes that were no UTF-8. */
const UNREADABLE = /[\p{Cc}\uFFFD]/u;

/** Reads where the response goes. Every later error is sent to the client (RFC 6749 section 4.1.2.1). */
export function addresseeOf(parameters: RequestParameters): Addressee | Unanswerable {
  // Several resources are an error for the client (RFC 8707 section 2 allows them; this server has one).
  if ([...parameters.repeated].some((name) => name !== 'resource')) return 'repeated';
  const [clientId, redirectUri, state] = ['client_id', 'redirect_uri', 'state'].map(parameters.get);
  if (clientId === undefined) return 'no_client_id';
  if (redirectUri === undefined) return 'no_redirect_uri';
  if (state !== undefined && (state.length > MAX_STATE_CHARACTERS || UNREADABLE.test(state)))
    return 'malformed_state';
  return { clientId, redirectUri, state };
}

/** An error response: RFC 6749 section 4.1.2.1; RFC 8707 section 2; OpenID Connect Core section 3.1.2.6. */
export interface AuthorizationError {
  readonly error:
    | 'access_denied'
    | 'invalid_request'
    | 'invalid_target'
    | 'request_not_supported'
    | 'request_uri_not_supported'
    | 'unsupported_response_type';
  readonly error_description: string;
}

/** What is wrong with a request whose addressee is known; undefined for a valid one. */
export function requestError(
  parameters: RequestParameters,
  audience: string,
): AuthorizationError | undefined {
  const { get, repeated } = parameters;
  const invalid = (error_description: string): AuthorizationError => ({
    error: 'invalid_request',
    error_description,
  });
  if (get('request') !== undefined)
    return { error: 'request_not_supported', error_description: 'request objects are not taken' };
  if (get('request_uri') !== undefined)
    return { error: 'request_uri_not_supported', error_description: 'request objects are not taken' };
  const responseType = get('response_type');
  if (responseType === undefined) return invalid('response_type is missing');
  if (responseType !== 'code')
    return { error: 'unsupported_response_type', error_description: 'the response_type is code' };
  if ((get('response_mode') ?? 'query') !== 'query') return invalid('the response_mode is query');
  if (!CODE_CHALLENGE_FORM.test(get('code_challenge') ?? ''))
    return invalid('code_challenge must be 43 base64url characters (PKCE, RFC 7636)');
  // Absent, it would mean `plain` (RFC 7636 section 4.3).
  if (get('code_challenge_method') !== 'S256') return invalid('code_challenge_method must be S256');
  if (repeated.has('resource') || !isResource(get('resource') ?? audience, audience))
    return { error: 'invalid_target', error_description: `the resource is ${audience}` };
  return undefined;
}

/**
 * Whether an address names the resource: its scheme and host in any case (RFC 3986 section 6.2.2.1), with or without a
 * trailing slash.
 * @param audience without a slash at its end
 */
export const isResource = (text: string, audience: string): boolean =>
  text === audience || normalized(text) === normalized(audience);

const normalized = (address: string): string | undefined =>
  URL.canParse(address) ? new URL(address).href.replace(/\/$/, '') : undefined;
