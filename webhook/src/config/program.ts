import type { Capability } from '@svault/shared/schemas';

/** Of this program; the same as in package.json, which a test holds. */
export const PROGRAM_VERSION = '0.1.0';

/** Protocol section 5.2: what this webhook can do, told at exchange and by the signed health check. */
export const CLAIMED_CAPABILITIES: readonly Capability[] = [
  'storage',
  'credential',
  'proxy',
  'store',
  'refresh-notify',
  'sv-refresh',
  'totp',
  'aws-sts',
  'gcp',
  'github-app',
  'sealed-delivery',
];
