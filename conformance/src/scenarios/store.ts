import type { Check } from '../check.ts';

export const STORE_CHECKS: readonly Check[] = [];
