import type { Check } from '../check.ts';

export const CORS_CHECKS: readonly Check[] = [];
