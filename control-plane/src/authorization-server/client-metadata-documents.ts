import { type Clock, JsonRefused, parseWireObject } from '@svault/shared';
import { type Egress, EgressFailed, EgressRefused, type EgressResponse } from '@svault/shared/egress';
import type { OauthClient } from '../core/oauth-client.ts';
import { clientMetadataSchema, nameIn, pageIn, usableRedirects, wantsCodeFlow } from './client-metadata.ts';

/** Clients by the address of their metadata document (draft-ietf-oauth-client-id-metadata-document). */
export type ClientDocuments = ReturnType<typeof createClientDocuments>;

/**
 * Why a client is not known by its metadata document. Closed.
 *
 * - `unreachable`: no complete response within the limits of time and size, or from an address that egress denies
 * - `no_document`: a status other than 200, redirects included
 * - `not_json`: another content type, or no JSON object
 * - `foreign_id`: it describes a client of another id
 * - `secret`: it names a secret, or a way to authenticate with one, and everybody can read it
 * - `unusable`: no redirect URI or flow that this server accepts
 */
export type DocumentProblem =
  'unreachable' | 'no_document' | 'not_json' | 'foreign_id' | 'secret' | 'unusable';

const MAX_ADDRESS_CHARACTERS = 500;
const MAX_BYTES = 64 * 1024;
/** Whatever a document's headers say: its client may have lost a redirect URI to somebody else. */
const MAX_SECONDS_FRESH = 300;
/** Long enough that a reload does not fetch again, short enough that a corrected document is seen. */
const PROBLEM_SECONDS = 30;
/** About 20 KiB each at worst. */
const MAX_CACHED = 200;
/** People wait for these fetches; who asks for more of them at once is no person. */
const MAX_FETCHES = 50;

/**
 * Whether a client id is the address of a metadata document (draft-ietf-oauth-client-id-metadata-document, "Client
 * Identifier"): https with a path, without fragment, userinfo and dot segments. It is the text that a URL parser would
 * write, so that what is compared, fetched and shown is the same.
 */
export function isDocumentAddress(text: string): boolean {
  if (text.length > MAX_ADDRESS_CHARACTERS || !URL.canParse(text)) return false;
  const { protocol, username, password, pathname, hash, href } = new URL(text);
  return (
    protocol === 'https:' &&
    href === text &&
    username === '' &&
    password === '' &&
    hash === '' &&
    !text.endsWith('#') &&
    pathname !== '/'
  );
}

type Found = OauthClient | DocumentProblem;

interface Cached {
  readonly found: Found;
  /** On the monotonic clock. */
  readonly untilMs: number;
}

/** Fetches documents through egress, one fetch for concurrent requests, and caches them as their headers say. */
export function createClientDocuments(options: {
  readonly egress: Pick<Egress, 'request'>;
  readonly clock: Clock;
  readonly timeoutMs?: number | undefined;
}) {
  const { egress, clock, timeoutMs = 5_000 } = options;
  // A map keeps its keys in insertion order: the first is the least recently used.
  const cached = new Map<string, Cached>();
  const fetching = new Map<string, Promise<Found>>();

  const fetchAndCache = async (address: string): Promise<Found> => {
    const response = await fetchDocument(egress, address, timeoutMs);
    const found = response === undefined ? 'unreachable' : readClientDocument(address, response);
    const maxSeconds = typeof found === 'string' ? PROBLEM_SECONDS : MAX_SECONDS_FRESH;
    const seconds = Math.min(secondsFresh(response?.headers ?? {}, MAX_SECONDS_FRESH), maxSeconds);
    if (seconds > 0) cached.set(address, { found, untilMs: clock.monotonic() + seconds * 1_000 });
    const oldest = cached.size > MAX_CACHED ? cached.keys().next().value : undefined;
    if (oldest !== undefined) cached.delete(oldest);
    return found;
  };

  return {
    /** @param address one that {@link isDocumentAddress} accepts */
    get: async (address: string): Promise<Found> => {
      const known = cached.get(address);
      cached.delete(address);
      if (known !== undefined && known.untilMs > clock.monotonic()) {
        cached.set(address, known);
        return known.found;
      }
      const shared = fetching.get(address);
      if (shared !== undefined) return shared;
      if (fetching.size >= MAX_FETCHES) return 'unreachable';
      const started = fetchAndCache(address).finally(() => fetching.delete(address));
      fetching.set(address, started);
      return started;
    },
  };
}

/** @returns undefined without a complete response, for whatever reason: the caller learns nothing about the network */
async function fetchDocument(
  egress: Pick<Egress, 'request'>,
  address: string,
  timeoutMs: number,
): Promise<EgressResponse | undefined> {
  try {
    return await egress.request({
      method: 'GET',
      url: address,
      headers: { accept: 'application/json', 'accept-encoding': 'identity' },
      timeoutMs,
      maxBytes: MAX_BYTES,
    });
  } catch (error) {
    if (error instanceof EgressFailed || error instanceof EgressRefused) return undefined;
    throw error;
  }
}

const JSON_TYPE = /^application\/(?:[a-z0-9.+-]+\+)?json[\t ]*(?:;|$)/i;
/** Methods with a shared secret, which a public document must not name (the draft's "Client Metadata"). */
const SYMMETRIC_METHOD = /^client_secret_/;

/** @param address the client id: the document names the same one, byte for byte */
function readClientDocument(address: string, { status, headers, body }: EgressResponse): Found {
  if (status !== 200) return 'no_document';
  const document = JSON_TYPE.test(headers['content-type'] ?? '') ? parseObject(body) : undefined;
  if (document === undefined) return 'not_json';
  if (document['client_id'] !== address) return 'foreign_id';
  const { success, data } = clientMetadataSchema.safeParse(document);
  if (!success) return 'unusable';
  if (
    'client_secret' in data ||
    'client_secret_expires_at' in data ||
    SYMMETRIC_METHOD.test(data.token_endpoint_auth_method ?? '')
  )
    return 'secret';
  const redirectUris = usableRedirects(data);
  if (redirectUris.length === 0 || !wantsCodeFlow(data)) return 'unusable';
  return { id: address, name: nameIn(data, new URL(address).host), uri: pageIn(data), redirectUris };
}

function parseObject(body: Buffer): Record<string, unknown> | undefined {
  try {
    return parseWireObject(body, { numbers: 'any' });
  } catch (error) {
    if (error instanceof JsonRefused) return undefined;
    throw error;
  }
}

/**
 * For how many seconds a response may be cached (RFC 9111 section 5.2.2): none with `no-store` or `no-cache`, else `max-age`
 * less the time that it spent in a cache before (`Age`).
 * @param headers by lower-case name
 * @param otherwise for a response that does not say
 */
export function secondsFresh(headers: Readonly<Record<string, string>>, otherwise: number): number {
  const directives = (headers['cache-control'] ?? '').toLowerCase().split(/[\s,]+/);
  if (directives.some((one) => /^no-(store|cache)\b/.test(one))) return 0;
  const maxAge = directives.map((one) => /^max-age="?(\d{1,9})"?$/.exec(one)?.[1]).find(Boolean);
  if (maxAge === undefined) return otherwise;
  const age = /^\d{1,9}$/.test(headers['age'] ?? '') ? Number(headers['age']) : 0;
  return Math.max(0, Number(maxAge) - age);
}
