import type { MaxUsageSettings } from '../core/policy.ts';

/**
 * Whether a use is left. An answer for now: the use is taken, or not, in the transaction that writes the access down.
 *
 * @param used how many were counted so far
 */
export const hasUseLeft = ({ limit }: MaxUsageSettings, used: number): boolean => used < limit;
