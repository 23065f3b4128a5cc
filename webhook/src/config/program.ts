import type { Capability } from '@svault/shared/schemas';

/** PROTOCOL.md section 5.2: the capabilities that the exchange and the signed health check report. */
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
  'request-rules',
  'http-proxy',
  'aws-sigv4',
  'approvals',
  'audit-checkpoints',
];
