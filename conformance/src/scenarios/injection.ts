import type { Check } from '../check.ts';

export const INJECTION_CHECKS: readonly Check[] = [];
