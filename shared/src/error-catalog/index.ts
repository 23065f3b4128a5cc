export { CONTROL_PLANE_ERRORS } from './control-plane-errors.ts';
export type { ControlPlaneErrorCode } from './control-plane-errors.ts';
export { statusByCode } from './error-description.ts';
export type { ErrorDescription, RedirectError } from './error-description.ts';
export { JSON_RPC_ERRORS, OAUTH_ERRORS } from './oauth-errors.ts';
export { WEBHOOK_ERRORS } from './webhook-errors.ts';
