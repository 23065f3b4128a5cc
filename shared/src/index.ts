export {
  constantTimeEqual,
  fromBase64,
  fromBase64url,
  randomToken,
  sha256,
  timeOrderedToken,
  toBase64,
  toBase64url,
  toHex,
  utf8,
} from './bytes.ts';
export { approvalChallenge, approvalText } from './approval-text.ts';
export type { ApprovalDecision, ApprovalFacts, ApprovalOperation, ApprovalScope } from './approval-text.ts';
export { awsScope } from './aws-scope.ts';
export type { AwsScope } from './aws-scope.ts';
export type { AwsRequestProblem } from './aws-request.ts';
export { ManualClock, formatTime, parseTime, systemClock } from './clock.ts';
export type { Clock } from './clock.ts';
export { Ending } from './ending.ts';
export type { EndSignal } from './ending.ts';
export { AppError, WEBHOOK_ERROR_STATUS, isWebhookErrorCode } from './errors.ts';
export type { WebhookErrorCode } from './errors.ts';
export {
  hashKey,
  isId,
  isWellFormedKey,
  keyDisplayPrefix,
  newId,
  newKey,
  newTimeOrderedId,
  timeOfId,
} from './ids.ts';
export type { Id, IdPrefix, KeyPrefix } from './ids.ts';
export { JsonRefused, isObject, parseJsonObject, parseJsonValue, parseWireObject } from './json.ts';
export type { JsonRefusalReason } from './json.ts';
export { base32Bytes } from './otpauth/base32.ts';
export { createScrub } from './echo-scrub.ts';
export { isShortSecret } from './short-secret.ts';
export {
  answerFieldsThatTravel,
  fillMarkers,
  httpRequestFieldsThatTravel,
  isFieldValue,
  markedNames,
  markersIn,
  requestFieldsThatTravel,
  withInjectedFields,
} from './proxy-headers.ts';
export {
  HTTP_TARGET_HEADER,
  namesParameter,
  targetProblem,
  upstreamTarget,
  withQuery,
} from './http-target.ts';
export { Secret } from './secret.ts';
export { didYouMean, nearNames } from './near-names.ts';
export { shellWord } from './shell-word.ts';
export { isServiceName } from './service-name.ts';

export { contentDigest, verifyContentDigest } from './signing/content-digest.ts';
export { headerPairs } from './signing/message.ts';
export type { HeaderPairs, HmacKey, SignedMessage } from './signing/message.ts';
export { signRequest } from './signing/sign.ts';
export type { RequestToSign } from './signing/sign.ts';
export { signatureBase } from './signing/signature-base.ts';
export { SIGNATURE_REFUSAL_REASONS, SignatureRefused } from './signing/signature-refused.ts';
export type { SignatureRefusalReason } from './signing/signature-refused.ts';
export {
  nonceClaimUntil,
  parseSignature,
  verifySignature,
  verifySignatureBody,
  verifySignatureHead,
} from './signing/verify.ts';
export type { ParsedSignature, SignaturePolicy } from './signing/verify.ts';
export { authorityOf, parseWebhookUrl, signedPath, signedTarget } from './signing/webhook-address.ts';
export type {
  WebhookAddress,
  WebhookAddressRefusalReason,
  WebhookAddressRefused,
} from './signing/webhook-address.ts';

export { MCP_METHODS, isHttpMethod, isMcpMethod, ticketClaimUntil } from './tickets/claims.ts';
export type {
  CredentialTicket,
  ProxyTicket,
  StoreTicket,
  TicketClaims,
  TicketFor,
  TicketOp,
} from './tickets/claims.ts';
export { issueTicket } from './tickets/issue.ts';
export { TICKET_REFUSAL_REASONS, TicketRefused } from './tickets/ticket-refused.ts';
export type { TicketRefusalReason } from './tickets/ticket-refused.ts';
export { verifyTicket } from './tickets/verify.ts';
export type { TicketPolicy } from './tickets/verify.ts';
export { bodyText, lookalikesIn, visibleLine, visibleText } from './untrusted-text.ts';
export type { Lookalikes } from './untrusted-text.ts';
