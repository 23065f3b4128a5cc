export { type ClientOptions, type Endpoint, SvaultClient, mcpProxy } from './client.ts';
export { Credential, type CredentialMembers, type Grant } from './credential.ts';
export {
  ApiError,
  ConnectionFailed,
  RateLimited,
  SealedError,
  SvaultError,
  UnexpectedAnswer,
  UsageError,
} from './errors.ts';
export {
  type PublicSealingJwk,
  type SealingCurve,
  type SealingJwk,
  createSealingKey,
  publicJwk,
} from './sealed.ts';
