import type { Check } from '../check.ts';

export const STREAMING_CHECKS: readonly Check[] = [];
