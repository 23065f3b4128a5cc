import {
  type EgressStream,
  type HeadBounds,
  type TakeAnswer,
  type Target,
  transferAnswer,
} from './answer-transfer.ts';
import { LRUCache } from 'lru-cache';
import type { buildConnector } from 'undici';
import { type Connections, createConnections } from './connections.ts';
import { Ending } from '../ending.ts';
import { startDeadline } from './deadline.ts';
import { EgressFailed } from './egress-errors.ts';

/** Partitions whose idle connections stay open. */
const MAX_POOLS = 1_000;
/**
 * The largest body after which a connection is used again. What is larger than the first flight of TCP (RFC 6928) may
 * still be under way when an upstream has answered already; what such an upstream takes the rest for, an answer to it
 * included, would meet the next caller.
 */
const REUSABLE_BODY_BYTES = 14_600;

/** Connections by partition and origin, and the calls on them. The target is admitted; the connector checks again. */
export interface AnswerStreams {
  /** Resolves once the taker has everything and is finished. Rejects, with the taker destroyed where there is one. */
  stream(target: Target, call: EgressStream, take: TakeAnswer): Promise<void>;
  /** Ends the calls that are under way. Further ones fail as aborted. */
  close(): void;
}

/**
 * An answer reaches the call that it belongs to and no other (HTTP/1.1 has no name for the request that an answer is
 * to): one call at a time per connection; a connection is used again only after a complete answer to a short request,
 * and after a rest in which the upstream wrote nothing; and none is where it ever wrote what nobody asked for. What is
 * left: an upstream that for the first time writes a second answer, later than that, while the next call is waiting on
 * the same connection, answers that call wrongly, as it could anyway; partitions keep it to calls of the same
 * partition.
 */
export function createAnswerStreams(connect: buildConnector.connector, bounds: HeadBounds): AnswerStreams {
  const pools = new LRUCache<string, Connections>({ max: MAX_POOLS, dispose: (pool) => pool.retire() });
  const underWay = new Set<Ending>();
  let closed = false;
  const poolOf = (partition: string, origin: string): Connections => {
    const key = `${partition} ${origin}`;
    const known = pools.get(key);
    if (known !== undefined) return known;
    const pool = createConnections(origin, { connect, maxHeaderSize: bounds.bytes });
    pools.set(key, pool);
    return pool;
  };

  return {
    stream: async (target, call, take) => {
      if (closed || call.signal?.aborted === true) throw new EgressFailed('aborted');
      const ended = new Ending();
      underWay.add(ended);
      const onSignal = (): void => ended.abort(new EgressFailed('aborted'));
      call.signal?.addEventListener('abort', onSignal, { once: true });
      const clearDeadline = startDeadline(call.headTimeoutMs, () => ended.abort(new EgressFailed('timeout')));
      const pool = poolOf(call.partition, target.origin);
      const last = (call.body?.byteLength ?? 0) > REUSABLE_BODY_BYTES;
      try {
        const client = await pool.take(ended);
        let complete = false;
        try {
          await transferAnswer(client, call.target ?? target.path, call, {
            bounds,
            take,
            last,
            signal: ended,
            onHead: clearDeadline,
          });
          complete = true;
        } finally {
          if (complete && !last) pool.giveBack(client);
          else pool.drop(client);
        }
      } catch (error) {
        // What ended this call, a partition or a restart, may have ended the idle connections without their noticing: the next
        // call on one would wait for its whole timeout.
        if (!(error instanceof EgressFailed && error.kind === 'aborted')) pool.dropIdle();
        throw error;
      } finally {
        clearDeadline();
        call.signal?.removeEventListener('abort', onSignal);
        underWay.delete(ended);
      }
    },
    close: () => {
      closed = true;
      for (const call of underWay) call.abort(new EgressFailed('aborted'));
      pools.clear();
    },
  };
}
