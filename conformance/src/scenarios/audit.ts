import type { Check } from '../check.ts';

export const AUDIT_CHECKS: readonly Check[] = [];
