import type { Check } from '../check.ts';

export const LEASE_CHECKS: readonly Check[] = [];
