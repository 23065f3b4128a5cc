import type { Check } from '../check.ts';

export const DESTINATION_CHECKS: readonly Check[] = [];
