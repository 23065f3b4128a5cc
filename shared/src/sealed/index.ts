export { SEALED_REFUSAL_REASONS, SealedRefused, openSealed } from './open-sealed.ts';
export type { SealedRefusalReason } from './open-sealed.ts';
export {
  SEALING_CURVES,
  createSealingKey,
  isUsableRecipient,
  jwkThumbprint,
  keyMembers,
  readSealingKey,
} from './sealing-key.ts';
export type { SealingCurve, SealingKey, SealingPrivateJwk, SealingPublicJwk } from './sealing-key.ts';
