export { addressVerdict } from './address-verdict.ts';
export type { AddressVerdict } from './address-verdict.ts';
export { parseAllowList } from './allow-list.ts';
export type { AllowList } from './allow-list.ts';
export { EgressFailed, EgressRefused } from './egress-errors.ts';
export type { EgressFailureKind, EgressRefusalReason } from './egress-errors.ts';
export { createEgress } from './egress.ts';
export type { Egress, EgressRequest, EgressResponse } from './egress.ts';
export type { Resolve } from './guarded-connector.ts';
