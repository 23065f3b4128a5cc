/** Specification, "Account-wide": `clamp(ceil(1.5 x (60 x active_agents + 300 x proxies)), 600, 3000)` per minute. */
const MIN_PER_MINUTE = 600;
const MAX_PER_MINUTE = 3_000;
export const AGGREGATE_WINDOW_MS = 60_000;

/** Counting further changes nothing: from here on the ceiling is reached by agents, or by proxies, alone. */
export const MAX_AGENTS_COUNTED = Math.ceil(MAX_PER_MINUTE / (1.5 * 60));
export const MAX_PROXIES_COUNTED = Math.ceil(MAX_PER_MINUTE / (1.5 * 300));

/** @returns requests per minute across all agents and proxies of the account */
export function aggregateLimit(account: { readonly activeAgents: number; readonly proxies: number }): number {
  const scaled = Math.ceil(1.5 * (60 * account.activeAgents + 300 * account.proxies));
  return Math.min(Math.max(scaled, MIN_PER_MINUTE), MAX_PER_MINUTE);
}
