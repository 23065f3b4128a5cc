/**
 * A model of the specification's "Limits", written from its text and from docs/decisions/0004-limits.md, to compare the limiters with. It is
 * slow and simple: it keeps each use and each violation. It shares no code with src/limits, not even the numbers.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The specification's numbers. */
export const SPECIFIED = {
  agent_credentials: 60,
  proxy_mcp: 300,
  mcp_handshake: 120,
  agent_no_grant: 10,
  credential_history: 20,
};

/** What a caller may send, as far as limits tell one from another. */
export type Traffic =
  /** A credential request or `tools/call`; proxy traffic that is not exempt. */
  | { readonly kind: 'full' }
  /** "`initialize`, `tools/list` and `notifications/*`" */
  | { readonly kind: 'handshake' }
  /** `credential_history` */
  | { readonly kind: 'history' }
  /** A request whose answer is NO_GRANT or GRANT_EXPIRED. */
  | { readonly kind: 'missing grant' }
  /** A request that `rate_limit` rules decide on last. */
  | { readonly kind: 'ruled'; readonly rules: readonly Rule[] };

export interface Rule {
  readonly id: string;
  readonly limit: number;
  readonly windowSeconds: number;
}

export interface Request {
  readonly account: string;
  readonly caller: { readonly kind: 'agent' | 'proxy'; readonly id: string };
  /** Of the account, now. */
  readonly activeAgents: number;
  readonly proxies: number;
  readonly traffic: Traffic;
  readonly atMs: number;
}

/** The limit that denied, and for how many seconds; undefined where none did. */
export type ModelDenial = { readonly by: string; readonly retryAfter: number } | undefined;

/** The times of the uses of a counter; a window begins with the first use after the last window has ended. */
class Uses {
  #window: number[] = [];

  /** Milliseconds until the window ends; 0 where none is running. */
  left(atMs: number, lengthMs: number): number {
    const [first] = this.#window;
    if (first === undefined || atMs >= first + lengthMs) this.#window = [];
    return this.#window.length === 0 ? 0 : (first ?? 0) + lengthMs - atMs;
  }

  isFull(atMs: number, limit: number, lengthMs: number): boolean {
    this.left(atMs, lengthMs);
    return this.#window.length >= limit;
  }

  add(atMs: number): void {
    this.#window.push(atMs);
  }
}

/** "Strike 1 locks out for 1 second, strike 2 for 2 seconds … A strike decays after an hour with no further violation." */
class PenaltyBox {
  #strikes = 0;
  #quietSince = 0;
  #lockedUntil = 0;

  strikes(atMs: number): number {
    while (this.#strikes > 0 && atMs >= this.#quietSince + HOUR) {
      this.#strikes -= 1;
      this.#quietSince += HOUR;
    }
    return this.#strikes;
  }

  left(atMs: number): number {
    return Math.max(0, this.#lockedUntil - atMs);
  }

  /** @param atLeastMs what is left of the floor's window */
  strike(atMs: number, atLeastMs: number): void {
    const strikes = this.strikes(atMs) + 1;
    let lockout = 1 * SECOND;
    for (let strike = 2; strike <= strikes && lockout < 15 * MINUTE; strike += 1) lockout *= 2;
    if (lockout > 15 * MINUTE) lockout = 15 * MINUTE;
    this.#strikes = strikes;
    this.#quietSince = atMs;
    this.#lockedUntil = atMs + Math.max(lockout, atLeastMs);
  }
}

/** "clamp(ceil(1.5 x (60 x active_agents + 300 x proxies)), 600, 3000) per minute" */
function aggregateOf({ activeAgents, proxies }: Request): number {
  const scaled = Math.ceil(1.5 * (60 * activeAgents + 300 * proxies));
  if (scaled < 600) return 600;
  return scaled > 3_000 ? 3_000 : scaled;
}

export class LimitsModel {
  readonly #uses = new Map<string, Uses>();
  readonly #boxes = new Map<string, PenaltyBox>();
  readonly #limits: typeof SPECIFIED & { readonly user_aggregate?: number };

  /** @param limits the numbers in force */
  constructor(limits: typeof SPECIFIED & { readonly user_aggregate?: number } = SPECIFIED) {
    this.#limits = limits;
  }

  request(request: Request): ModelDenial {
    const { account, caller, traffic, atMs } = request;
    const who = `${account} ${caller.id}`;
    const box = entry(this.#boxes, who, () => new PenaltyBox());

    // "1. Penalty box. A locked-out agent gets 429 at once for every service, on both REST and MCP."
    if (box.left(atMs) > 0) return denial('penalty_box', box.left(atMs));

    if (traffic.kind === 'handshake') {
      // "skip the floor … and the strikes. They count against `mcp_handshake`", per minute and agent or proxy.
      const full = this.#take(`mcp_handshake ${who}`, atMs, this.#limits.mcp_handshake, MINUTE);
      if (full > 0) return denial('mcp_handshake', full);
    } else {
      // "2. Floor limit. Exceeding it strikes the penalty box. The resulting lockout is at least the floor window's own."
      const scope = caller.kind === 'agent' ? 'agent_credentials' : 'proxy_mcp';
      const full = this.#take(`${scope} ${who}`, atMs, this.#limits[scope], MINUTE);
      if (full > 0) {
        box.strike(atMs, full);
        return denial(scope, box.left(atMs));
      }
    }

    // "3. Account aggregate", which exempt traffic counts against too, "with no strike".
    const aggregate = this.#limits.user_aggregate ?? aggregateOf(request);
    const full = this.#take(`user_aggregate ${account}`, atMs, aggregate, MINUTE);
    if (full > 0) return denial('user_aggregate', full);

    // "4. Then grant and policy checks": misses, the extra cap of credential_history, policies' own rates.
    if (traffic.kind === 'missing grant') return this.#cap('agent_no_grant', who, atMs);
    if (traffic.kind === 'history') return this.#cap('credential_history', who, atMs);
    if (traffic.kind === 'ruled') return this.#rates(account, traffic.rules, atMs);
    return undefined;
  }

  /** The callers of an account that are locked out. */
  lockedOut(account: string, atMs: number): { id: string; strikes: number; retryAfter: number }[] {
    return [...this.#boxes]
      .filter(([who, box]) => who.startsWith(`${account} `) && box.left(atMs) > 0)
      .map(([who, box]) => ({
        id: who.slice(account.length + 1),
        strikes: box.strikes(atMs),
        retryAfter: denial('', box.left(atMs)).retryAfter,
      }));
  }

  #cap(scope: 'agent_no_grant' | 'credential_history', who: string, atMs: number): ModelDenial {
    const full = this.#take(`${scope} ${who}`, atMs, this.#limits[scope], MINUTE);
    return full > 0 ? denial(scope, full) : undefined;
  }

  /** All rules must have room; only then each of them counts. */
  #rates(account: string, rules: readonly Rule[], atMs: number): ModelDenial {
    const usesOf = ({ id }: Rule): Uses => this.#of(`rate_limit ${account} ${id}`);
    for (const rule of rules)
      if (usesOf(rule).isFull(atMs, rule.limit, rule.windowSeconds * SECOND))
        return denial(`rate_limit ${rule.id}`, usesOf(rule).left(atMs, rule.windowSeconds * SECOND));
    for (const rule of rules) usesOf(rule).add(atMs);
    return undefined;
  }

  /** @returns 0 where the use is counted, else the milliseconds until there is room */
  #take(name: string, atMs: number, limit: number, lengthMs: number): number {
    const uses = this.#of(name);
    if (uses.isFull(atMs, limit, lengthMs)) return uses.left(atMs, lengthMs);
    uses.add(atMs);
    return 0;
  }

  #of = (name: string): Uses => entry(this.#uses, name, () => new Uses());
}

function entry<T>(map: Map<string, T>, key: string, make: () => T): T {
  const there = map.get(key) ?? make();
  map.set(key, there);
  return there;
}

/** "Clients wait the indicated number of seconds": whole ones, so never fewer than are left. */
const denial = (by: string, leftMs: number): NonNullable<ModelDenial> => ({
  by,
  retryAfter: Math.ceil(leftMs / SECOND),
});
