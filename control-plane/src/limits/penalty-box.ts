/** Specification, "Penalty box". */
export const FIRST_LOCKOUT_MS = 1_000;
export const MAX_LOCKOUT_MS = 15 * 60_000;
export const DECAY_MS = 60 * 60_000;
/** From this strike on the lockout is the longest: 2^10 s is more than 15 minutes. */
export const MAX_STRIKES_COUNTED = 1 + Math.ceil(Math.log2(MAX_LOCKOUT_MS / FIRST_LOCKOUT_MS));

/** What is remembered of a caller that exceeded its floor. */
export interface PenaltyBox {
  /** Right after the violation. */
  readonly strikes: number;
  /** When the floor was last exceeded, milliseconds on the clock of whoever keeps it. */
  readonly violatedAtMs: number;
  readonly lockedUntilMs: number;
  /** Only this process knows of it, and Redis is yet to be told. */
  readonly untold?: boolean;
}

/** Strikes that are left: one decays with each full hour without a violation. */
export function strikesAt(box: PenaltyBox | undefined, nowMs: number): number {
  if (box === undefined) return 0;
  return Math.max(0, box.strikes - Math.floor((nowMs - box.violatedAtMs) / DECAY_MS));
}

/** @returns milliseconds for which a caller stays locked out, 0 where it is not */
export const lockedForMs = (box: PenaltyBox | undefined, nowMs: number): number =>
  box === undefined ? 0 : Math.max(0, box.lockedUntilMs - nowMs);

/**
 * The floor is exceeded: 1 s for the first strike, doubling with each up to 15 minutes, and at least as long as the
 * floor's own window goes on.
 */
export function struck(box: PenaltyBox | undefined, floorFullForMs: number, nowMs: number): PenaltyBox {
  const strikes = strikesAt(box, nowMs) + 1;
  const doubled = FIRST_LOCKOUT_MS * 2 ** (Math.min(strikes, MAX_STRIKES_COUNTED) - 1);
  const lockoutMs = Math.max(Math.min(doubled, MAX_LOCKOUT_MS), floorFullForMs);
  return { strikes, violatedAtMs: nowMs, lockedUntilMs: nowMs + lockoutMs };
}

/** From when on nothing is left of it. */
export const forgottenAtMs = (box: PenaltyBox): number =>
  Math.max(box.lockedUntilMs, box.violatedAtMs + box.strikes * DECAY_MS);
