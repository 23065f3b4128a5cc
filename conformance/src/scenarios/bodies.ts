import type { Check } from '../check.ts';

export const BODY_CHECKS: readonly Check[] = [];
