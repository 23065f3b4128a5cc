import type { Check } from '../check.ts';

export const ROTATION_CHECKS: readonly Check[] = [];
