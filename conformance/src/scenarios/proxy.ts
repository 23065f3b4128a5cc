import type { Check } from '../check.ts';

export const PROXY_CHECKS: readonly Check[] = [];
