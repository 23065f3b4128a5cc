import fc from 'fast-check';
import { newId } from '@svault/shared';
import type { Admission, Counter, LimitedCaller, Limiter, LimiterVerdict } from '../../src/limits/limiter.ts';
import { type Limits, createLimits } from '../../src/limits/limits.ts';
import { LimitsModel, type ModelDenial, type Request, SPECIFIED, type Traffic } from './limits-model.ts';

/** Callers of two accounts; an agent in each, and a second agent and a proxy in the first. */
const CALLERS = [
  { account: 0, kind: 'agent' },
  { account: 0, kind: 'agent' },
  { account: 0, kind: 'proxy' },
  { account: 1, kind: 'agent' },
] as const;

/** Requests of one kind without a pause, and the time that passes before them. */
interface Step {
  readonly waitMs: number;
  readonly caller: number;
  readonly traffic: Traffic;
  readonly times: number;
  readonly activeAgents: number;
  readonly proxies: number;
}

const RULES = [
  { id: 'one', limit: 1, windowSeconds: 1 },
  { id: 'two', limit: 2, windowSeconds: 60 },
  { id: 'three', limit: 3, windowSeconds: 3_600 },
];

const traffic: fc.Arbitrary<Traffic> = fc.oneof(
  { arbitrary: fc.constant<Traffic>({ kind: 'full' }), weight: 5 },
  { arbitrary: fc.constant<Traffic>({ kind: 'handshake' }), weight: 4 },
  fc.constant<Traffic>({ kind: 'history' }),
  fc.constant<Traffic>({ kind: 'missing grant' }),
  fc.record({ kind: fc.constant('ruled' as const), rules: fc.subarray(RULES) }),
);

/** Times at which windows and lockouts may end, and a millisecond before and after. */
const waitMs = fc.oneof(
  { arbitrary: fc.constant(0), weight: 4 },
  fc.constantFrom(1, 999, 1_000, 1_001, 30_000, 58_500, 59_999, 60_000, 60_001),
  fc.constantFrom(3_540_000, 3_599_999, 3_600_000, 3_600_001, 7_200_000),
  fc.integer({ min: 0, max: 70_000 }),
);

/** @param times how many requests come at once */
const schedules = (times: fc.Arbitrary<number>, maxLength: number): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.record({
      waitMs,
      caller: fc.nat(CALLERS.length - 1),
      traffic,
      times,
      activeAgents: fc.constantFrom(0, 1, 7, 30),
      proxies: fc.constantFrom(0, 1, 2),
    }),
    { minLength: 1, maxLength },
  );

/** Limits so small that few requests reach all of them. */
const SMALL = {
  agent_credentials: 3,
  proxy_mcp: 4,
  mcp_handshake: 4,
  agent_no_grant: 2,
  credential_history: 2,
  user_aggregate: 8,
};

/** Limits and schedules that reach them. */
export interface Variant {
  readonly numbers: typeof SPECIFIED & { readonly user_aggregate?: number };
  readonly limits: Limits;
  readonly schedules: fc.Arbitrary<Step[]>;
}

/** The specification's numbers, in bursts that come near them. */
export const AS_SPECIFIED: Variant = {
  numbers: SPECIFIED,
  limits: createLimits({}),
  schedules: schedules(fc.constantFrom(1, 1, 1, 2, 9, 11, 20, 41, 59, 61, 120, 299, 301), 10),
};

export const WITH_SMALL_NUMBERS: Variant = {
  numbers: SMALL,
  limits: createLimits(SMALL),
  schedules: schedules(fc.constantFrom(1, 1, 2, 3, 5), 16),
};

function admissionOf(request: Request, limits: Limits, who: LimitedCaller): Admission {
  const { caller, traffic } = request;
  const floor = caller.kind === 'agent' ? 'agent_credentials' : 'proxy_mcp';
  return {
    ...who,
    traffic: traffic.kind === 'handshake' ? 'mcp_handshake' : floor,
    aggregateLimit: limits.aggregate(request),
    extraCounters: extraCountersOf(traffic, limits, who.callerId),
  };
}

function extraCountersOf(traffic: Traffic, limits: Limits, callerId: string): Counter[] {
  if (traffic.kind === 'missing grant') return [limits.counter('agent_no_grant', callerId)];
  if (traffic.kind === 'history') return [limits.counter('credential_history', callerId)];
  if (traffic.kind !== 'ruled') return [];
  return traffic.rules.map(({ id, limit, windowSeconds }) => ({
    scope: 'rate_limit',
    key: id,
    limit,
    windowMs: windowSeconds * 1_000,
  }));
}

/** New ids for each schedule, since Redis keeps the counts of others. */
function makeCallers(): readonly LimitedCaller[] {
  const vaults = [newId('vlt'), newId('vlt')] as const;
  return CALLERS.map(({ account, kind }) => ({
    vaultId: vaults[account],
    callerId: kind === 'agent' ? newId('agt') : newId('prx'),
  }));
}

const denialOf = (verdict: LimiterVerdict): ModelDenial => {
  if (verdict.allowed) return undefined;
  const by = verdict.scope === 'rate_limit' ? `rate_limit ${verdict.key}` : verdict.scope;
  return { by, retryAfter: verdict.retryAfterSeconds };
};

/** A limiter on a clock that the schedule sets. */
export interface LimiterOnTime {
  readonly limiter: Limiter;
  setTime(atMs: number): void;
}

/**
 * Sends the requests of a schedule, from time 0 on.
 *
 * @returns how many requests were made
 * @throws Error where limiter and model differ, about a request or about the lockouts at the end
 */
async function compare(
  steps: readonly Step[],
  { limits, numbers }: Variant,
  { limiter, setTime }: LimiterOnTime,
): Promise<number> {
  const model = new LimitsModel(numbers);
  const callers = makeCallers();
  let [atMs, asked] = [0, 0];
  for (const { waitMs: wait, caller: index, traffic: sent, times, activeAgents, proxies } of steps) {
    atMs += wait;
    setTime(atMs);
    const who = callers[index]!;
    const caller = { kind: CALLERS[index]!.kind, id: who.callerId };
    const request: Request = { account: who.vaultId, caller, activeAgents, proxies, traffic: sent, atMs };
    const admission = admissionOf(request, limits, who);
    for (let time = 0; time < times; time += 1) {
      const found = denialOf(await limiter.admit(admission));
      const expected = model.request(request);
      if (found?.by !== expected?.by || found?.retryAfter !== expected?.retryAfter)
        throw new Error(
          `request ${asked}: found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`,
        );
      asked += 1;
    }
  }
  for (const { vaultId } of callers) {
    const found = (await limiter.lockouts(vaultId)).map(
      ({ callerId, strikes, retryAfterSeconds }) => `${callerId} ${strikes} ${retryAfterSeconds}`,
    );
    const expected = model
      .lockedOut(vaultId, atMs)
      .map(({ id, strikes, retryAfter }) => `${id} ${strikes} ${retryAfter}`);
    if (found.toSorted().join() !== expected.toSorted().join())
      throw new Error(`at the end: found ${found.join()}, expected ${expected.join()}`);
  }
  return asked;
}

/**
 * Compares limiter and model on many random schedules, each with a new limiter.
 *
 * @returns how many requests were made in all
 */
export async function compareMany(
  variant: Variant,
  numRuns: number,
  start: () => LimiterOnTime,
): Promise<number> {
  let asked = 0;
  const property = fc.asyncProperty(variant.schedules, async (steps) => {
    asked += await compare(steps, variant, start());
  });
  await fc.assert(property, { numRuns });
  return asked;
}
