import type { Check } from '../check.ts';

export const TOTP_CHECKS: readonly Check[] = [];
