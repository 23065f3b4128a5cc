import { APPROVAL_LIMITS, STORAGE_LIMITS } from '@svault/shared/schemas';

/** The largest answer that is read, so that its cost is bounded before it is parsed. */
export interface ResponseLimit {
  readonly bytes: number;
  /** Commas outside of strings. Members and elements cost more to parse than the bytes of a string. */
  readonly commas: number;
}

const KIB = 1024;

/** Errors, and answers of a few short members. */
const SHORT: ResponseLimit = { bytes: 4 * KIB, commas: 32 };
/** A hundred capabilities of 64 characters. */
const CAPABILITIES: ResponseLimit = { bytes: 8 * KIB, commas: 128 };
/**
 * 100 hosts of 260 bytes, 20 headers of 128, a token URL and a client id of 2,048 characters, and request rules of 16 KiB with 500
 * entries (PROTOCOL.md sections 5.3, 5.5 and 5.7).
 */
const TOKEN: ResponseLimit = { bytes: 58 * KIB, commas: 860 };
/** 100 ids with status and time. */
const APPROVAL_STATES: ResponseLimit = { bytes: 16 * KIB, commas: 4 * APPROVAL_LIMITS.listIds };
/** 20 templates of 4 KiB, in which every character may be escaped, and a URL of 2,048 characters. */
const PROXY: ResponseLimit = { bytes: 176 * KIB, commas: 32 };
/** An event of 8 KiB, and the head of the log. */
const LOG_ENTRY: ResponseLimit = { bytes: 16 * KIB, commas: 2 * KIB };
/** The limit of every answer with several values: parsing it blocks the event loop for a few milliseconds. */
const LARGEST: ResponseLimit = { bytes: 128 * KIB, commas: 2 * KIB };

/**
 * Page sizes for tokens. A hundred of ordinary size (up to 1 KiB) fit; after an answer that is too large the next smaller
 * page is requested, of which the last fits whatever its tokens hold.
 */
export const TOKEN_PAGE_SIZES = [100, 20, 2] as const;

/** @returns the next smaller page size, undefined after the last */
export const smallerTokenPage = (than: number): number | undefined =>
  TOKEN_PAGE_SIZES.find((count) => count < than);

/** By operation of `/v1/storage`. */
const STORAGE: Readonly<Record<string, (operation: Operation) => ResponseLimit>> = {
  'tokens.list': ({ limit }) => times(TOKEN, limit ?? STORAGE_LIMITS.defaultPage),
  'tokens.get': () => TOKEN,
  'proxies.put': () => PROXY,
  'proxies.get': () => PROXY,
  'audit.list': ({ limit }) => times(LOG_ENTRY, limit ?? STORAGE_LIMITS.defaultPage),
};

interface Operation {
  readonly op?: string;
  readonly limit?: number;
  readonly batch?: readonly Operation[];
}

export function responseLimit(path: string, body: object): ResponseLimit {
  switch (path) {
    case '/v1/health':
    case '/v1/exchange':
      return CAPABILITIES;
    case '/v1/refresh':
      return TOKEN;
    case '/v1/storage':
      return storageLimit(body);
    case '/v1/approvals/list':
      return APPROVAL_STATES;
    default:
      return SHORT;
  }
}

function storageLimit(operation: Operation): ResponseLimit {
  const { op = '', batch } = operation;
  return batch === undefined ? (STORAGE[op]?.(operation) ?? SHORT) : sum(batch.map(storageLimit));
}

const times = ({ bytes, commas }: ResponseLimit, count: number): ResponseLimit =>
  within({ bytes: bytes * count, commas: commas * count });

const sum = (limits: readonly ResponseLimit[]): ResponseLimit =>
  within(
    limits.reduce(
      (all, limit) => ({ bytes: all.bytes + limit.bytes, commas: all.commas + limit.commas }),
      SHORT,
    ),
  );

const within = ({ bytes, commas }: ResponseLimit): ResponseLimit => ({
  bytes: Math.min(bytes, LARGEST.bytes),
  commas: Math.min(commas, LARGEST.commas),
});

/** The operation's name for messages; of a batch, whose operations are all alike, the first one's. */
export function operationOf(path: string, body: Operation): string {
  return path === '/v1/storage' ? (body.op ?? body.batch?.[0]?.op ?? path) : path;
}
