import { Redis } from 'ioredis';
import type { Secret } from '@svault/shared';
import type { RunScript } from '../../limits/redis-counters.ts';
import type { ConnectRedis, RedisConnection } from '../../limits/start-limiter.ts';
import { withinDeadline } from './with-timeout.ts';

/** For one question; a round trip takes a millisecond or less. Every answer is to be there within 250 ms. */
const DEADLINE_MS = 150;
const CONNECT_TIMEOUT_MS = 1_000;
/** A connection on which nothing has come for so long, though something was asked, is taken for dead. */
const SILENCE_MS = 1_000;
/** Before connecting anew, and before asking a Redis that failed whether it is back. */
const RETRY_MS = 500;
const PROBE_LIFETIME_MS = 1_000;
/** For the first answer of all. */
const FIRST_ANSWER_MS = 1_000;

const ignore = (): void => undefined;

/** Connects, and waits until that has worked or failed once. */
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
    // Nothing waits for a connection, and nothing is sent twice.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: Math.max(SILENCE_MS, deadlineMs),
    retryStrategy: () => RETRY_MS,
    // After a failover the address may lead to the new primary, and this connection to what is a replica now.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  });

  const set = (now: boolean, reason?: string): void => {
    if (usable === now || closed) return;
    usable = now;
    onChange(now, reason);
  };
  const failed = (error: unknown): void => {
    // Of an error of ioredis only the message is told: it carries the command, which may be AUTH.
    set(false, error instanceof Error ? error.message : 'unknown');
    if (closed || retry !== undefined || redis.status !== 'ready') return;
    retry = setTimeout(() => void probe(), RETRY_MS);
    retry.unref();
  };
  /**
   * A write: a Redis that is full, or a replica, answers a PING all the same. In the database that was asked for: where there
   * is none such, the client would go on in the first one, which may be another service's.
   */
  const write = async (): Promise<unknown> => {
    const { db = 0 } = redis.options;
    if (db !== 0) await redis.select(db);
    return redis.set(`${keyPrefix}probe`, '1', 'PX', PROBE_LIFETIME_MS);
  };
  const probe = async (patienceMs = deadlineMs): Promise<void> => {
    clearTimeout(retry);
    retry = undefined;
    try {
      await withinDeadline(write(), patienceMs);
      set(true);
    } catch (error) {
      failed(error);
    }
  };
  const cameLate =
    (onLate: ((reply: unknown) => void) | undefined) =>
    (reply: unknown): void => {
      onLate?.(reply);
      // It answers again: no need to wait for the next time that it is asked whether it does.
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
  // A process that has just started knows of nothing that was counted, and should not go on alone for a short wait.
  await redis.connect().then(() => probe(Math.max(FIRST_ANSWER_MS, deadlineMs)), failed);
  redis.on('ready', () => void probe());
  return {
    usable: () => usable === true,
    run: async (script, keys, args, onLate) => {
      const answer = runScript(script, keys, args);
      try {
        return await withinDeadline(answer, deadlineMs);
      } catch (error) {
        failed(error);
        void answer.then(cameLate(onLate)).catch(ignore);
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
