export { openSealed } from './open-sealed.ts';
export { SEALED_REFUSAL_REASONS, SealedRefused } from './sealed-refused.ts';
export type { SealedRefusalReason } from './sealed-refused.ts';
export { createSealingKey, readSealingKey } from './sealing-key.ts';
export type { SealingKey, SealingPrivateJwk, SealingPublicJwk } from './sealing-key.ts';
export { jwkThumbprint } from './thumbprint.ts';
