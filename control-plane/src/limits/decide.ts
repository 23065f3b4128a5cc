import { AGGREGATE_WINDOW_MS } from './aggregate.ts';
import type { Admission, LimiterVerdict } from './limiter.ts';
import type { Limits } from './limits.ts';
import { lockedForMs, struck } from './penalty-box.ts';
import type { OwnedCounter, Tally } from './tally.ts';
import { fullForMs, used } from './window.ts';

type RefusedVerdict = Extract<LimiterVerdict, { readonly allowed: false }>;

const ALLOWED: LimiterVerdict = { allowed: true };

/** @param leftMs until there is room again, more than 0 */
export function refusedBy(scope: RefusedVerdict['scope'], leftMs: number, key?: string): RefusedVerdict {
  const retryAfterSeconds = Math.ceil(leftMs / 1_000);
  return { allowed: false, scope, retryAfterSeconds, ...(key !== undefined && { key }) };
}

/** The counters of an admission in the order in which they are asked: floor (or handshake), aggregate, further ones. */
export function countersOf(
  request: Admission,
  limits: Pick<Limits, 'counter'>,
): {
  readonly floor: OwnedCounter;
  readonly aggregate: OwnedCounter;
  readonly extraCounters: readonly OwnedCounter[];
} {
  const { vaultId, callerId, aggregateLimit, extraCounters } = request;
  return {
    floor: { ...limits.counter(request.traffic, callerId), vaultId },
    aggregate: {
      scope: 'user_aggregate',
      key: '',
      limit: aggregateLimit,
      windowMs: AGGREGATE_WINDOW_MS,
      vaultId,
    },
    extraCounters: extraCounters.map((counter) => ({ ...counter, vaultId })),
  };
}

/**
 * Decides and counts one request of a caller that is known, as the specification's "Pipeline order for credential access"
 * and "Handshake exemption" have it. Everything that can refuse stands here in the order in which it is asked; what is
 * behind a refusal is not counted.
 */
export function decide(
  request: Admission,
  { tally, limits, nowMs }: { readonly tally: Tally; readonly limits: Limits; readonly nowMs: number },
): LimiterVerdict {
  const { floor, aggregate, extraCounters } = countersOf(request, limits);
  const take = (counter: OwnedCounter): number => countIn(tally, counter, nowMs);

  const box = tally.box(request);
  const locked = lockedForMs(box, nowMs);
  if (locked > 0) return refusedBy('penalty_box', locked);

  const floorFull = take(floor);
  if (floorFull > 0 && request.traffic === 'mcp_handshake') return refusedBy(request.traffic, floorFull);
  if (floorFull > 0) {
    const worse = struck(box, floorFull, nowMs);
    tally.setBox(request, worse);
    return refusedBy(request.traffic, lockedForMs(worse, nowMs));
  }

  const aggregateFull = take(aggregate);
  if (aggregateFull > 0) return refusedBy('user_aggregate', aggregateFull);

  for (const counter of extraCounters) {
    const full = fullForMs(tally.window(counter), counter.limit, nowMs);
    if (full > 0) return refusedBy(counter.scope, full, counter.key);
  }
  for (const counter of extraCounters) take(counter);
  return ALLOWED;
}

/** Decides and counts one use of one counter. */
export function decideAlone(counter: OwnedCounter, tally: Tally, nowMs: number): LimiterVerdict {
  const full = countIn(tally, counter, nowMs);
  return full > 0 ? refusedBy(counter.scope, full, counter.key) : ALLOWED;
}

/** @returns 0 where the use is counted, else the milliseconds for which there is no room */
function countIn(tally: Tally, counter: OwnedCounter, nowMs: number): number {
  const window = tally.window(counter);
  const full = fullForMs(window, counter.limit, nowMs);
  if (full === 0) tally.setWindow(counter, used(window, counter.windowMs, nowMs));
  return full;
}
