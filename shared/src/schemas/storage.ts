import * as z from 'zod';
import { byteLength } from '../byte-length.ts';
import { requestRulesSchema } from '../request-rules/rules-schema.ts';
import { approvalSettingSchema } from './approvals.ts';
import { headerTemplatesSchema, outgoingUrlSchema, queryTemplatesSchema } from './destinations.ts';
import { type Signable, awsSigningSchema, fitsSigning } from './aws-signing.ts';
import {
  cursorSchema,
  idSchema,
  ifVersionSchema,
  serviceNameSchema,
  timeSchema,
  versionSchema,
} from './members.ts';
import { AUTH_METHODS, DELIVERY, STORAGE_LIMITS, TOKEN_TYPES } from './vocabulary.ts';

/** PROTOCOL.md section 5.3: the metadata of a record that a webhook gives the control plane. Never a secret. */
export const tokenMetadataSchema = z.object({
  serviceName: serviceNameSchema,
  tokenType: z.enum(TOKEN_TYPES),
  createdAt: timeSchema,
  updatedAt: timeSchema,
  expiryTime: timeSchema.optional(),
  hasRefreshToken: z.boolean(),
  version: versionSchema,
  delivery: z.enum(DELIVERY),
  allowedHosts: z.array(z.string()),
  allowedHeaders: z.array(z.string()),
  allowedQuery: z.array(z.string()).optional(),
  requests: requestRulesSchema.optional(),
  approval: approvalSettingSchema.optional(),
  /** The record holds no secret. */
  empty: z.boolean(),
  /** The stored refresh token is invalid; the owner must authorise again. */
  reauthNeeded: z.literal(true).optional(),
  provider: z
    .object({
      tokenUrl: z.string(),
      clientId: z.string(),
      authMethod: z.enum(AUTH_METHODS),
      mediated: z.boolean(),
    })
    .optional(),
});
export type TokenMetadata = z.infer<typeof tokenMetadataSchema>;

const proxyConfigMembers = {
  proxyId: idSchema,
  serviceName: serviceNameSchema,
  upstreamUrl: outgoingUrlSchema,
  headerTemplates: headerTemplatesSchema,
  /** An HTTP API (PROTOCOL.md section 5.8); absent: an MCP server. */
  kind: z.literal('http').optional(),
  queryTemplates: queryTemplatesSchema.optional(),
  /** What the webhook does with redirects to other origins; absent: it returns them like any other response. */
  redirects: z.literal('follow-without-credential').optional(),
  /** How calls are signed with the credential (PROTOCOL.md section 5.9), which is then in no template. */
  signing: awsSigningSchema.optional(),
};
const fitsItsKind = ({
  kind,
  queryTemplates,
  redirects,
  upstreamUrl,
}: Signable & { readonly redirects?: unknown }): boolean =>
  kind === 'http' ? !upstreamUrl.includes('?') : queryTemplates === undefined && redirects === undefined;
const OF_ITS_KIND =
  'queryTemplates and redirects are for kind http, whose upstreamUrl has no query, as requests add theirs';

const OF_SIGNING =
  'signing is for kind http, beside no template with a marker, and names region and service where the host does not';

/** PROTOCOL.md section 5.3: a proxy's configuration as the webhook keeps it. */
export const proxyConfigSchema = z
  .object({ ...proxyConfigMembers, version: versionSchema })
  .refine(fitsItsKind, OF_ITS_KIND)
  .refine(fitsSigning, OF_SIGNING);
export type ProxyConfig = z.infer<typeof proxyConfigSchema>;

const eventMembers = {
  id: idSchema,
  eventType: z.string().regex(/^[A-Za-z0-9_.:-]{1,64}$/, 'not an event type'),
  timestamp: timeSchema,
  /** One of `OUTCOMES` if this project's control plane wrote it. */
  outcome: z.string().regex(/^[a-z_]{1,32}$/, 'not an outcome'),
  agentId: idSchema.optional(),
  proxyId: idSchema.optional(),
  userId: idSchema.optional(),
  serviceName: serviceNameSchema.optional(),
  count: z.int().min(1).optional(),
  detail: z.record(z.string(), z.unknown()).optional(),
};

/** PROTOCOL.md section 5.3: an event that the control plane writes by `audit.append`; at most 8 KiB of JSON. */
export const auditEventSchema = z
  .object(eventMembers)
  .refine((event) => jsonBytes(event) <= STORAGE_LIMITS.auditEventBytes, 'an event has at most 8 KiB');
export type AuditEvent = z.infer<typeof auditEventSchema>;

/** An event as `audit.list` answers it. */
export const auditItemSchema = z.object({
  ...eventMembers,
  /** Grows by one within an epoch. */
  seq: z.int().min(0),
  /** `webhook`: written by itself; `service`: by `audit.append`. */
  source: z.enum(['webhook', 'service']),
});
export type AuditItem = z.infer<typeof auditItemSchema>;

/** The last entry of a webhook's log: within an epoch equal `seq` means equal `hash`. */
export const auditHeadSchema = z.object({
  epoch: z.string().max(128),
  seq: z.int().min(0),
  hash: z.string().max(128),
});
export type AuditHead = z.infer<typeof auditHeadSchema>;

/** The hash of an event in the control plane's chain. */
const chainHashSchema = z.string().regex(/^[0-9a-f]{64}$/, 'not a hash of 64 lower-case hex digits');

/** A verifier key of signed notes, `NAME+HASH+KEY`. */
const noteKeySchema = z.string().min(1).max(1_024);

/** PROTOCOL.md section 5.11: what the refusal `CHECKPOINT_CONFLICT` says besides: the checkpoint cosigned last. */
export const checkpointConflictSchema = z.object({ size: z.int().min(1), hash: chainHashSchema });

function jsonBytes(value: unknown): number {
  return byteLength(JSON.stringify(value));
}

const page = (max: number) => ({
  cursor: cursorSchema.optional(),
  limit: z.int().min(1).max(max).optional(),
});

const listPage = page(STORAGE_LIMITS.listPage);

/** PROTOCOL.md section 5.3: one operation of `POST /v1/storage`. */
export const storageOperationSchema = z.discriminatedUnion('op', [
  z.object({ op: z.literal('tokens.list'), ...listPage, expiresBefore: timeSchema.optional() }),
  z.object({ op: z.literal('tokens.get'), serviceName: serviceNameSchema }),
  z.object({
    op: z.literal('tokens.delete'),
    serviceName: serviceNameSchema,
    ifVersion: ifVersionSchema.optional(),
  }),
  z
    .object({ op: z.literal('proxies.put'), ...proxyConfigMembers, ifVersion: ifVersionSchema.optional() })
    .refine(fitsItsKind, OF_ITS_KIND)
    .refine(fitsSigning, OF_SIGNING),
  z.object({ op: z.literal('proxies.get'), proxyId: idSchema }),
  z.object({ op: z.literal('proxies.list'), ...listPage }),
  z.object({ op: z.literal('proxies.delete'), proxyId: idSchema, ifVersion: ifVersionSchema.optional() }),
  z.object({
    op: z.literal('audit.append'),
    events: z.array(auditEventSchema).max(STORAGE_LIMITS.auditEvents),
  }),
  z.object({
    op: z.literal('audit.list'),
    ...page(STORAGE_LIMITS.auditPage),
    agentId: idSchema.optional(),
    serviceName: serviceNameSchema.optional(),
  }),
  z.object({
    op: z.literal('audit.checkpoint'),
    /** Signed note of the head of the control plane's chain (PROTOCOL.md section 5.11), signed with `key`. */
    checkpoint: z
      .string()
      .refine((note) => byteLength(note) <= STORAGE_LIMITS.checkpointBytes, 'a checkpoint has at most 4 KiB'),
    key: noteKeySchema,
    /** The hash of the event before the first of `events`. */
    previous: chainHashSchema,
    /** What is hashed of the newest events of the checkpoint, in order. */
    events: z.array(z.string()).max(STORAGE_LIMITS.checkpointEvents),
  }),
]);
export type StorageOperation = z.infer<typeof storageOperationSchema>;
export type StorageOperationName = StorageOperation['op'];

/**
 * PROTOCOL.md section 5.3: several operations, run in order, each on its own. What is in the list is read one by one,
 * by {@link storageOperationSchema}, since a wrong one is refused in its place and stops no other.
 */
export const storageBatchSchema = z.object({ batch: z.array(z.unknown()).min(1).max(STORAGE_LIMITS.batch) });
export type StorageBatch = z.infer<typeof storageBatchSchema>;

const nextCursor = cursorSchema.optional();
const deletedSchema = z.object({ deleted: z.boolean() });

/** PROTOCOL.md section 5.3: what each operation answers. */
export const storageAnswerSchemas = {
  'tokens.list': z.object({ items: z.array(tokenMetadataSchema), nextCursor }),
  'tokens.get': tokenMetadataSchema,
  'tokens.delete': deletedSchema,
  'proxies.put': proxyConfigSchema,
  'proxies.get': proxyConfigSchema,
  'proxies.list': z.object({ items: z.array(proxyConfigSchema), nextCursor }),
  'proxies.delete': deletedSchema,
  'audit.append': z.object({ accepted: z.int().min(0) }),
  'audit.list': z.object({ items: z.array(auditItemSchema), nextCursor, head: auditHeadSchema }),
  'audit.checkpoint': z.object({ cosignature: z.string().max(1_024), key: noteKeySchema }),
} as const satisfies Record<StorageOperationName, z.ZodType>;

export type StorageAnswers = { [Op in StorageOperationName]: z.infer<(typeof storageAnswerSchemas)[Op]> };
export type StorageAnswer<Op extends StorageOperationName> = StorageAnswers[Op];

/** Answer to a batch: results and error bodies, in the order of the operations. */
export const storageBatchAnswerSchema = z.object({ results: z.array(z.unknown()) });
export type StorageBatchAnswer = z.infer<typeof storageBatchAnswerSchema>;
