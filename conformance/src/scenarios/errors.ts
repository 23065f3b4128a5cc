import type { Check } from '../check.ts';

export const ERROR_CHECKS: readonly Check[] = [];
