import * as z from 'zod';
import { FIELD_VALUE, isHeaderName } from '../proxy-headers.ts';
import { isHttpMethod } from '../tickets/claims.ts';
import { idSchema, serviceNameSchema, timeSchema } from './members.ts';

/** PROTOCOL.md section 5.10: sizes and lifetimes of approvals. */
export const APPROVAL_LIMITS = {
  /** How long one waits for its decision, and how long it may be used then. */
  lifetimeSeconds: 15 * 60,
  /** How long a denied one answers those who ask the same again. */
  silenceSeconds: 10 * 60,
  minStandingSeconds: 60,
  maxStandingSeconds: 8 * 3600,
  openPerCredential: 100,
  openPerSub: 20,
  open: 1_000,
  nameCharacters: 100,
  reasonCharacters: 500,
  bodyBytes: 16 * 1024,
  /** Of all fields together, names and values. */
  fieldCharacters: 16 * 1024,
  fields: 100,
  listIds: 100,
} as const;
const LIMITS = APPROVAL_LIMITS;

/** What may need an approval, as `approval.for` names it; the operations of tickets that are not the owner's. */
export const APPROVED_OPERATIONS = ['credential', 'proxy'] as const;
export type ApprovedOperation = (typeof APPROVED_OPERATIONS)[number];

/** PROTOCOL.md section 5.10: a decision of a person's that a use of the record needs; sealed with the secret. */
export const approvalSettingSchema = z.strictObject({
  by: z.literal('passkey'),
  for: z
    .array(z.enum(APPROVED_OPERATIONS))
    .min(1)
    .max(APPROVED_OPERATIONS.length)
    .refine((names) => new Set(names).size === names.length, 'each may stand once'),
  /** The longest allowance that an approver can give; absent: each use is decided. */
  standingSeconds: z.int().min(LIMITS.minStandingSeconds).max(LIMITS.maxStandingSeconds).optional(),
});
export type ApprovalSetting = Readonly<z.infer<typeof approvalSettingSchema>>;

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const digestSchema = z.string().regex(/^sha-256=:[A-Za-z0-9+/]{43}=:$/, 'not a SHA-256 digest');

const fieldsSchema = z
  .array(
    z.tuple([
      z.string().refine(isHeaderName, 'not a header name'),
      z.string().regex(FIELD_VALUE, 'not a header value'),
    ]),
  )
  .max(LIMITS.fields)
  .refine(
    (fields) =>
      fields.reduce((sum, [name, value]) => sum + name.length + value.length, 0) <= LIMITS.fieldCharacters,
    `at most ${LIMITS.fieldCharacters / 1024} KiB of header fields`,
  );

/** PROTOCOL.md section 5.10: the use that is asked for. */
const operationSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('credential') }),
  z.object({
    type: z.literal('proxy'),
    proxyId: idSchema,
    method: z.string().refine(isHttpMethod, 'not a method'),
    /** What follows the upstream's URL, for a proxy of an HTTP API and no other (`sv-target`). */
    target: z
      .string()
      .max(8 * 1024)
      .optional(),
    /** Of the agent's, those that travel; those that no decision covers may be left out. */
    fields: fieldsSchema.optional(),
    /** base64 of the whole body. */
    body: z
      .string()
      .max(Math.ceil(LIMITS.bodyBytes / 3) * 4)
      .regex(BASE64, 'not base64')
      .refine((body) => Buffer.byteLength(body, 'base64') <= LIMITS.bodyBytes, 'above 16 KiB')
      .optional(),
    /** In the place of a longer body. */
    bodyDigest: digestSchema.optional(),
    bodyBytes: z.int().min(1).optional(),
  }),
]);

/** PROTOCOL.md section 5.10: the body of `POST /v1/approvals`. */
export const approvalRequestSchema = z
  .object({
    serviceName: serviceNameSchema,
    sub: idSchema,
    /** What the control plane calls the caller. */
    name: z.string().max(LIMITS.nameCharacters).optional(),
    /** In the caller's own words. */
    reason: z.string().max(LIMITS.reasonCharacters).optional(),
    operation: operationSchema,
  })
  .refine(
    ({ operation }) =>
      operation.type === 'credential' ||
      (operation.bodyDigest === undefined) === (operation.bodyBytes === undefined),
    { message: 'bodyDigest and bodyBytes stand together', path: ['operation'] },
  )
  .refine(
    ({ operation }) =>
      operation.type === 'credential' || operation.body === undefined || operation.bodyDigest === undefined,
    { message: 'a body, or its digest', path: ['operation'] },
  );
export type ApprovalRequest = z.infer<typeof approvalRequestSchema>;
export type RequestedOperation = ApprovalRequest['operation'];

export const APPROVAL_STATUSES = ['pending', 'approved', 'denied', 'expired', 'used'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

export const approvalIdSchema = z.string().regex(/^apr_[A-Za-z0-9_-]{22}$/, 'not the id of an approval');

const stateMembers = {
  id: approvalIdSchema,
  status: z.enum(APPROVAL_STATUSES),
  /** Until when it can be decided, or, once approved, used. */
  expiresAt: timeSchema,
};

/** PROTOCOL.md section 5.10: the answer of `POST /v1/approvals`. */
export const approvalAnswerSchema = z.union([
  z.object({
    ...stateMembers,
    askedAt: timeSchema,
    /** Of the page where it is decided. */
    url: z.string().max(2048),
  }),
  z.object({ status: z.literal('not_required') }),
]);
export type ApprovalAnswer = z.infer<typeof approvalAnswerSchema>;

/** PROTOCOL.md section 5.10: the body of `POST /v1/approvals/list`. */
export const approvalListSchema = z.object({
  ids: z.array(approvalIdSchema).min(1).max(LIMITS.listIds),
});
export type ApprovalList = z.infer<typeof approvalListSchema>;

const approvalStateSchema = z.object(stateMembers);
export type ApprovalState = z.infer<typeof approvalStateSchema>;

/** PROTOCOL.md section 5.10: the answer of `POST /v1/approvals/list`. */
export const approvalListAnswerSchema = z.object({ items: z.array(approvalStateSchema) });
export type ApprovalListAnswer = z.infer<typeof approvalListAnswerSchema>;
