import { Redis } from 'ioredis';
import type { Secret } from '@svault/shared';
import type { RunScript } from '../../limits/redis-counters.ts';
import type { ConnectRedis, RedisConnection } from '../../limits/start-limiter.ts';
import { withTimeout } from './with-timeout.ts';

/** Of one command; a round trip takes a millisecond or less, and a request has 250 ms. */
const DEADLINE_MS = 150;
const CONNECT_TIMEOUT_MS = 1_000;
/** A connection without a reply for this long, while commands wait, counts as dead. */
const SILENCE_MS = 1_000;
/** Before a new connection, and before a probe of a Redis that failed. */
const RETRY_MS = 500;
const PROBE_LIFETIME_MS = 1_000;
/** For the first reply. */
const FIRST_REPLY_MS = 1_000;

const ignore = (): void => undefined;

/** Connects, and waits until the first attempt has succeeded or failed. */
export async function connectRedis(
  url: Secret,
  { keyPrefix, onChange }: Parameters<ConnectRedis>[0],
  deadlineMs = DEADLINE_MS,
): Promise<RedisConnection> {
  let usable: boolean | undefined;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;
  const redis = new Redis(url.reveal(), {
    protocol: 2,
    lazyConnect: true,
    disableClientInfo: true,
    // No command waits for a connection, and none is sent twice.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: Math.max(CONNECT_TIMEOUT_MS, deadlineMs),
    socketTimeout: Math.max(SILENCE_MS, deadlineMs),
    retryStrategy: () => RETRY_MS,
    // After a failover the address may lead to the new primary, while this connection leads to a replica.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  });

  const set = (now: boolean, reason?: string): void => {
    if (usable === now || closed) return;
    usable = now;
    onChange(now, reason);
  };
  const failed = (error: unknown): void => {
    // Only the message: an error of ioredis carries the command, which may be AUTH.
    set(false, error instanceof Error ? error.message : 'unknown');
    if (closed || retry !== undefined || redis.status !== 'ready') return;
    retry = setTimeout(() => void probe(), RETRY_MS);
    retry.unref();
  };
  /**
   * A write, because a full Redis and a replica answer PING as well. It selects the database first: where that does not
   * exist, the client would go on in database 0, which may be another service's.
   */
  const write = async (): Promise<unknown> => {
    const { db = 0 } = redis.options;
    if (db !== 0) await redis.select(db);
    return redis.set(`${keyPrefix}probe`, '1', 'PX', PROBE_LIFETIME_MS);
  };
  const probe = async (timeoutMs = deadlineMs): Promise<void> => {
    clearTimeout(retry);
    retry = undefined;
    try {
      await withTimeout(write(), timeoutMs);
      set(true);
    } catch (error) {
      failed(error);
    }
  };
  const passOnLate =
    (onLate: ((reply: unknown) => void) | undefined) =>
    (reply: unknown): void => {
      onLate?.(reply);
      // It replies again: probe now, not at the next retry.
      if (retry !== undefined) void probe();
    };
  const runScript: RunScript = async (script, keys, args) => {
    const operands = [keys.length, ...keys, ...args] as const;
    try {
      return await redis.evalsha(script.sha1, ...operands);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return redis.eval(script.text, ...operands);
    }
  };

  redis.on('error', failed);
  redis.on('close', () => failed(new Error('the connection is closed')));
  // A process that has just started has no counts, so it waits a little rather than start without the shared ones.
  await redis.connect().then(() => probe(Math.max(FIRST_REPLY_MS, deadlineMs)), failed);
  redis.on('ready', () => void probe());
  return {
    usable: () => usable === true,
    run: async (script, keys, args, onLate) => {
      const answer = runScript(script, keys, args);
      try {
        return await withTimeout(answer, deadlineMs);
      } catch (error) {
        failed(error);
        void answer.then(passOnLate(onLate)).catch(ignore);
        throw error;
      }
    },
    close: () => {
      closed = true;
      clearTimeout(retry);
      redis.disconnect();
    },
  };
}
