export { openSealed } from './open-sealed.ts';
export { SEALED_REFUSAL_REASONS, SealedRefused } from './sealed-refused.ts';
export type { SealedRefusalReason } from './sealed-refused.ts';
export { SEALING_CURVES, createSealingKey, readSealingKey } from './sealing-key.ts';
export type { SealingCurve, SealingKey, SealingPrivateJwk, SealingPublicJwk } from './sealing-key.ts';
export { jwkThumbprint, keyMembers } from './thumbprint.ts';
export { isUsableRecipient } from './usable-recipient.ts';
