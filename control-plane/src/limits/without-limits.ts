import type { AgentLimiter, LimiterVerdict } from './limiter.ts';

const ALLOWED: LimiterVerdict = { allowed: true };

/** Counts nothing and lets every request through: what runs until the specification's limits are built. */
export const withoutLimits: AgentLimiter = { admit: () => ALLOWED, admitMiss: () => ALLOWED };
