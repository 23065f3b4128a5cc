/**
 * The wire bodies of the webhook protocol, one family per noun. Schemas hold no transforms, so that OpenAPI can be
 * made from them. Optional members are `.optional()`: read a body with `parseWireObject`, which drops members that are
 * null (PROTOCOL.md section 2).
 */
export {
  AUTH_METHODS,
  CAPABILITIES,
  DEFAULT_ALLOWED_HEADERS,
  DELIVERY,
  MAX_SECRET_BYTES,
  OUTCOMES,
  STORAGE_LIMITS,
  TOKEN_TYPES,
} from './vocabulary.ts';
export type { AuthMethod, Capability, Delivery, Outcome, TokenType } from './vocabulary.ts';
export { SECRET_FIELD_NAMES, secretFieldIn } from './secret-fields.ts';
export {
  cursorSchema,
  errorBodySchema,
  idSchema,
  ifVersionSchema,
  serviceNameSchema,
  thumbprintSchema,
  timeSchema,
  versionSchema,
} from './members.ts';
export {
  APPROVAL_LIMITS,
  APPROVAL_STATUSES,
  APPROVED_OPERATIONS,
  approvalAnswerSchema,
  approvalIdSchema,
  approvalListAnswerSchema,
  approvalListSchema,
  approvalRequestSchema,
  approvalSettingSchema,
} from './approvals.ts';
export type {
  ApprovalAnswer,
  ApprovalList,
  ApprovalListAnswer,
  ApprovalRequest,
  ApprovalSetting,
  ApprovalState,
  ApprovalStatus,
  ApprovedOperation,
  RequestedOperation,
} from './approvals.ts';
export { allowedHostFor, isAllowedDestination, isAllowedHost } from '../allowed-hosts.ts';
export { awsScope } from '../aws-scope.ts';
export {
  allowedHeadersSchema,
  allowedHostsSchema,
  allowedQuerySchema,
  headerNameSchema,
  headerTemplatesSchema,
  isForbiddenTemplateHeader,
  outgoingUrlSchema,
  queryTemplatesSchema,
} from './destinations.ts';
export { isHeaderName } from '../proxy-headers.ts';
export type { ErrorBody } from './members.ts';
export {
  bindCodeSchema,
  exchangeAnswerSchema,
  exchangeRequestSchema,
  hmacHashSchema,
  rotateAnswerSchema,
  rotateRequestSchema,
} from './exchange.ts';
export type { ExchangeAnswer, ExchangeRequest, RotateAnswer, RotateRequest } from './exchange.ts';
export { healthSchema, signedHealthSchema } from './health.ts';
export type { Health, SignedHealth } from './health.ts';
export {
  auditEventSchema,
  auditHeadSchema,
  auditItemSchema,
  checkpointConflictSchema,
  proxyConfigSchema,
  storageAnswerSchemas,
  storageBatchAnswerSchema,
  storageBatchSchema,
  storageOperationSchema,
  tokenMetadataSchema,
} from './storage.ts';
export type {
  AuditEvent,
  AuditHead,
  AuditItem,
  ProxyConfig,
  StorageAnswer,
  StorageAnswers,
  StorageBatch,
  StorageBatchAnswer,
  StorageOperation,
  StorageOperationName,
  TokenMetadata,
} from './storage.ts';
export { awsSigningSchema, credentialHeaders, fitsSigning } from './aws-signing.ts';
export type { AwsSigning } from './aws-signing.ts';
export { destinationProblem } from './destination-problem.ts';
export { callFailureText, proxyFailureSchema, proxyFailureText } from './proxy-failure.ts';
export type { CallFailure, DestinationProblem, ProxyFailure } from './proxy-failure.ts';
export { credentialEnvelopeSchema } from './credential-envelope.ts';
export type { CredentialEnvelope } from './credential-envelope.ts';
export { minterSchema } from './minter.ts';
export type { Minter } from './minter.ts';
export { providerSchema, storeAnswerSchema, storeBodySchema, warningsOf } from './store.ts';
export type { Provider, StoreAnswer, StoreBody } from './store.ts';
export { recipientSchema } from './recipient.ts';
export type { Recipient } from './recipient.ts';
export { totpSeedOf } from './totp-seed.ts';
export type { TotpSeed } from './totp-seed.ts';
export {
  refreshAcceptedSchema,
  refreshDoneSchema,
  refreshLeaseSchema,
  refreshNotifySchema,
  refreshOutcomeSchema,
  refreshRequestSchema,
} from './refresh.ts';
export type {
  RefreshAccepted,
  RefreshDone,
  RefreshLease,
  RefreshNotify,
  RefreshOutcome,
  RefreshRequest,
} from './refresh.ts';
