import type { Clock } from '@svault/shared';
import { type Egress, EgressFailed, EgressRefused } from '@svault/shared/egress';
import { type DocumentProblem, readClientDocument } from './client-document.ts';
import { secondsFresh } from './freshness.ts';
import type { OauthClient } from '../core/oauth-client.ts';

/** Clients by the address of their metadata document (draft-ietf-oauth-client-id-metadata-document). */
export interface ClientDocuments {
  /** @param address one that `isDocumentAddress` let through */
  get(address: string): Promise<OauthClient | DocumentProblem>;
}

const FETCH_TIMEOUT_MS = 5_000;
const MAX_BYTES = 64 * 1024;
/** However long a document says that it holds: its client may have lost a redirect URI to somebody else. */
const MAX_SECONDS_FRESH = 300;
/** Long enough that a reload does not ask again, short enough that a mended document is seen. */
const PROBLEM_SECONDS = 30;
/** About 20 KiB each at worst. */
const MAX_KEPT = 200;
/** People wait for these; who asks for more of them at once is no person. */
const MAX_UNDER_WAY = 50;

interface Kept {
  readonly found: OauthClient | DocumentProblem;
  /** On the monotonic clock. */
  readonly untilMs: number;
}

/**
 * Fetches documents through the guarded way out, and keeps those asked for last, for as long as they say, five minutes at
 * most. Requests for the same address at the same time share one fetch.
 */
export function createClientDocuments({
  egress,
  clock,
}: {
  readonly egress: Pick<Egress, 'request'>;
  readonly clock: Clock;
}): ClientDocuments {
  // A map keeps the order in which keys came: the first is the one that was asked for longest ago.
  const kept = new Map<string, Kept>();
  const underWay = new Map<string, Promise<OauthClient | DocumentProblem>>();

  const keep = (address: string, found: Kept['found'], seconds: number): void => {
    if (seconds > 0) kept.set(address, { found, untilMs: clock.monotonic() + seconds * 1_000 });
    const oldest = kept.size > MAX_KEPT ? kept.keys().next().value : undefined;
    if (oldest !== undefined) kept.delete(oldest);
  };
  const fetchAndKeep = async (address: string): Promise<Kept['found']> => {
    const answer = await fetchDocument(egress, address);
    if (answer === undefined) {
      keep(address, 'unreachable', PROBLEM_SECONDS);
      return 'unreachable';
    }
    const found = readClientDocument(address, answer);
    const most = typeof found === 'string' ? PROBLEM_SECONDS : MAX_SECONDS_FRESH;
    keep(address, found, Math.min(secondsFresh(answer.headers, MAX_SECONDS_FRESH), most));
    return found;
  };

  return {
    get: async (address) => {
      const known = kept.get(address);
      kept.delete(address);
      if (known !== undefined && known.untilMs > clock.monotonic()) {
        kept.set(address, known);
        return known.found;
      }
      const asked = underWay.get(address);
      if (asked !== undefined) return asked;
      if (underWay.size >= MAX_UNDER_WAY) return 'unreachable';
      const fetching = fetchAndKeep(address).finally(() => underWay.delete(address));
      underWay.set(address, fetching);
      return fetching;
    },
  };
}

/** @returns undefined where no complete answer came, for whatever reason: who asked is not told what is in the network */
async function fetchDocument(egress: Pick<Egress, 'request'>, address: string) {
  try {
    return await egress.request({
      method: 'GET',
      url: address,
      headers: { accept: 'application/json', 'accept-encoding': 'identity' },
      timeoutMs: FETCH_TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
  } catch (error) {
    if (error instanceof EgressFailed || error instanceof EgressRefused) return undefined;
    throw error;
  }
}
