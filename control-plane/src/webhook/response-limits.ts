import { STORAGE_LIMITS } from '@svault/shared/schemas';

/** The largest answer that is read: what it may cost the process is bounded before any of it is parsed. */
export interface AnswerCap {
  readonly bytes: number;
  /** Commas outside of texts: members and elements, which cost more than bytes of text do. */
  readonly commas: number;
}

const KIB = 1024;

/** Refusals, and answers of a few short members. */
const SHORT: AnswerCap = { bytes: 4 * KIB, commas: 32 };
/** A hundred capabilities of 64 characters. */
const CAPABILITIES: AnswerCap = { bytes: 8 * KIB, commas: 128 };
/** 100 hosts of 260 bytes, 20 headers of 128, a token URL and a client id of 2,048 characters (protocol.md 5.3, 5.5). */
const TOKEN: AnswerCap = { bytes: 42 * KIB, commas: 160 };
/** 20 templates of 4 KiB, in which every character may be escaped, and a URL of 2,048 characters. */
const PROXY: AnswerCap = { bytes: 176 * KIB, commas: 32 };
/** An event of 8 KiB, and the head of the log. */
const LOG_ENTRY: AnswerCap = { bytes: 16 * KIB, commas: 2 * KIB };
/** No answer with several values is larger, so that none takes the event loop more than a few milliseconds. */
const LARGEST: AnswerCap = { bytes: 128 * KIB, commas: 2 * KIB };

/**
 * Tokens to ask for at once. Of an ordinary size (up to 1 KiB) the first fit into the cap. What exceeds it is asked for again in
 * the next smaller number; the last one fits whatever its tokens hold.
 */
export const TOKENS_AT_ONCE = [100, 20, 3] as const;

/** @returns undefined where it cannot be smaller */
export const fewerTokens = (than: number): number | undefined => TOKENS_AT_ONCE.find((count) => count < than);

/** By operation of `/v1/storage`. */
const STORAGE: Readonly<Record<string, (operation: Operation) => AnswerCap>> = {
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

/** What the answer to a call may be at most. */
export function answerCap(path: string, body: object): AnswerCap {
  switch (path) {
    case '/v1/health':
    case '/v1/exchange':
      return CAPABILITIES;
    case '/v1/refresh':
      return TOKEN;
    case '/v1/storage':
      return storageCap(body);
    default:
      return SHORT;
  }
}

function storageCap(operation: Operation): AnswerCap {
  const { op = '', batch } = operation;
  return batch === undefined ? (STORAGE[op]?.(operation) ?? SHORT) : sum(batch.map(storageCap));
}

const times = ({ bytes, commas }: AnswerCap, count: number): AnswerCap =>
  within({ bytes: bytes * count, commas: commas * count });

const sum = (caps: readonly AnswerCap[]): AnswerCap =>
  within(
    caps.reduce((all, cap) => ({ bytes: all.bytes + cap.bytes, commas: all.commas + cap.commas }), SHORT),
  );

const within = ({ bytes, commas }: AnswerCap): AnswerCap => ({
  bytes: Math.min(bytes, LARGEST.bytes),
  commas: Math.min(commas, LARGEST.commas),
});

/** For messages: the operation, or where there are several of the same kind, that one. */
export function operationOf(path: string, body: Operation): string {
  return path === '/v1/storage' ? (body.op ?? body.batch?.[0]?.op ?? path) : path;
}
