import type { Check } from '../check.ts';

export const REFRESH_CHECKS: readonly Check[] = [];
