import type { Check } from '../check.ts';

export const PROXY_CONFIG_CHECKS: readonly Check[] = [];
