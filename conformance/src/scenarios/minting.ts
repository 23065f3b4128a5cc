import type { Check } from '../check.ts';

export const MINTING_CHECKS: readonly Check[] = [];
