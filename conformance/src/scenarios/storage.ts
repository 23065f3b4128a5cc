import type { Check } from '../check.ts';

export const STORAGE_CHECKS: readonly Check[] = [];
