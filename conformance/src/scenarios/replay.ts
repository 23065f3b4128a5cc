import type { Check } from '../check.ts';

export const REPLAY_CHECKS: readonly Check[] = [];
