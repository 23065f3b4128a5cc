import type { Check } from '../check.ts';

export const TOKEN_TYPE_CHECKS: readonly Check[] = [];
