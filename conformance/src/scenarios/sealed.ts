import type { Check } from '../check.ts';

export const SEALED_CHECKS: readonly Check[] = [];
