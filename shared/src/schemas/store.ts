import * as z from 'zod';
import { requestRulesSchema } from '../request-rules/rules-schema.ts';
import { totpMembers } from '../otpauth/otpauth-uri.ts';
import { isShortSecret } from '../short-secret.ts';
import { approvalSettingSchema } from './approvals.ts';
import {
  allowedHeadersSchema,
  allowedHostsSchema,
  allowedQuerySchema,
  outgoingUrlSchema,
} from './destinations.ts';
import { secretSchema, serviceNameSchema, settingSchema, timeSchema, versionSchema } from './members.ts';
import { minterSchema } from './minter.ts';
import { recipientSchema } from './recipient.ts';
import { seedWarning, totpSeedOf } from './totp-seed.ts';
import { AUTH_METHODS, DELIVERY } from './vocabulary.ts';

/** PROTOCOL.md section 5.5: the provider and the client of a `JWT` record's refresh; sealed with the secret. */
export const providerSchema = z
  .strictObject({
    tokenUrl: outgoingUrlSchema,
    clientId: settingSchema,
    clientSecret: secretSchema.optional(),
    /** Default: `client_secret_basic` with a secret or `mediated`, else `none` (PROTOCOL.md section 5.4). */
    authMethod: z.enum(AUTH_METHODS).optional(),
    scope: settingSchema.optional(),
    /** Only the control plane can authenticate the client (PROTOCOL.md section 7). */
    mediated: z.boolean().optional(),
  })
  .refine((provider) => provider.authMethod !== 'private_key_jwt' || provider.mediated === true, {
    message: 'private_key_jwt is for mediated providers',
    path: ['authMethod'],
  });
export type Provider = z.infer<typeof providerSchema>;

/** Sealed with every secret. */
const restrictions = {
  allowedHosts: allowedHostsSchema.optional(),
  allowedHeaders: allowedHeadersSchema.optional(),
  /** Parameters of a query that may have the marker. Default: none. */
  allowedQuery: allowedQuerySchema.optional(),
  requests: requestRulesSchema.optional(),
  approval: approvalSettingSchema.optional(),
  delivery: z.enum(DELIVERY).optional(),
  recipients: z.array(recipientSchema).min(1).max(20).optional(),
  /** A proxy may inject less than 80 bits. Default: false. */
  allowShortSecret: z.boolean().optional(),
  expiryTime: timeSchema.optional(),
};

const byTokenType = z.discriminatedUnion('tokenType', [
  z.strictObject({ tokenType: z.literal('PlainText'), value: secretSchema, ...restrictions }),
  z.strictObject({
    tokenType: z.literal('JWT'),
    accessToken: secretSchema,
    refreshToken: secretSchema.optional(),
    /** Default: true without `provider`, false with. */
    shareRefreshToken: z.boolean().optional(),
    provider: providerSchema.optional(),
    ...restrictions,
  }),
  z.strictObject({
    tokenType: z.literal('Certificate'),
    /** PEM chain. */
    certificate: secretSchema,
    /** PEM. */
    privateKey: secretSchema,
    ...restrictions,
  }),
  z.strictObject({
    tokenType: z.literal('SSHKey'),
    privateKey: secretSchema,
    publicKey: z
      .string()
      .max(16 * 1024)
      .optional(),
    ...restrictions,
  }),
  z.strictObject({
    tokenType: z.literal('RawCredential'),
    value: secretSchema.optional(),
    minter: minterSchema.optional(),
    ...restrictions,
  }),
  z.strictObject({
    tokenType: z.literal('TOTP'),
    /** base32; spaces, dashes, padding and letter case do not matter. */
    secret: secretSchema.optional(),
    /** Members that repeat a part of it must agree with it. */
    otpauthUri: secretSchema.optional(),
    ...totpMembers,
    ...restrictions,
  }),
]);

/** PROTOCOL.md section 5.5: the body of `POST /v1/store`. No unknown member: a misspelt restriction would be none. */
export const storeBodySchema = byTokenType
  .refine(hasOneSecretForm, 'exactly one of the secret fields of this type')
  .refine((body) => body.tokenType !== 'TOTP' || totpSeedOf(body) !== undefined, {
    message:
      'not base32, not a URI of otpauth://totp/, or a URI that says something else than its neighbours',
    path: ['secret'],
  })
  .refine((body) => (body.delivery === 'sealed') === (body.recipients !== undefined), {
    message: 'recipients stand with delivery sealed, and only there',
    path: ['recipients'],
  })
  .refine((body) => !isAnywhere(body) || body.delivery === undefined || body.delivery === 'any', {
    message: '* is refused together with proxy-only or sealed',
    path: ['allowedHosts'],
  })
  .refine((body) => body.allowShortSecret === true || !isShortAndInjectable(body), {
    message:
      'with less than 80 bits this secret could be found out by those who use a proxy with it; say allowShortSecret: true (svault: --allow-short-secret) to accept that, or leave out allowedHosts',
    path: ['allowShortSecret'],
  });
export type StoreBody = z.infer<typeof storeBodySchema>;

/** Answer of `POST /v1/store`. */
export const storeAnswerSchema = z.object({
  serviceName: serviceNameSchema,
  version: versionSchema,
  /** For people; nothing of the secret is in them. */
  warnings: z.array(z.string().max(500)).max(20).optional(),
});
export type StoreAnswer = z.infer<typeof storeAnswerSchema>;

const ANY_WITH_REQUESTS =
  'request rules limit what a proxy asks; an agent with a grant still fetches this credential itself, unless its delivery is proxy-only';

const ANY_WITH_APPROVED_PROXIES =
  'only uses by a proxy are approved; an agent with a grant still fetches this credential itself, unless that is approved too or its delivery is proxy-only';

/** Warnings about a body that is stored nevertheless; for the webhook's answer, and for a client before it stores. */
export function warningsOf(body: StoreBody): readonly string[] {
  const seed = body.tokenType === 'TOTP' ? totpSeedOf(body)?.seed : undefined;
  const leavesByTicket =
    body.requests !== undefined && (body.delivery ?? 'any') === 'any' && ANY_WITH_REQUESTS;
  const leavesUnapproved =
    body.approval?.for.includes('credential') === false &&
    (body.delivery ?? 'any') === 'any' &&
    ANY_WITH_APPROVED_PROXIES;
  return [seedWarning(seed ?? ''), leavesByTicket || undefined, leavesUnapproved || undefined].filter(
    (each) => each !== undefined,
  );
}

function hasOneSecretForm(body: z.infer<typeof byTokenType>): boolean {
  switch (body.tokenType) {
    case 'RawCredential':
      return (body.value === undefined) !== (body.minter === undefined);
    case 'TOTP':
      return (body.secret === undefined) !== (body.otpauthUri === undefined);
    default:
      return true;
  }
}

function isAnywhere(body: { readonly allowedHosts?: readonly string[] | undefined }): boolean {
  return body.allowedHosts?.includes('*') ?? false;
}

/** Protocol SAV-36. A minted or refreshed token is checked when it is injected. */
function isShortAndInjectable(body: z.infer<typeof byTokenType>): boolean {
  if (body.allowedHosts === undefined || body.allowedHosts.length === 0) return false;
  if (body.tokenType === 'TOTP') return (body.secret ?? body.otpauthUri) !== '';
  const injected = injectedBy(body);
  return injected !== undefined && isShortSecret(injected);
}

/** @returns undefined if it is made on demand */
function injectedBy(body: Exclude<z.infer<typeof byTokenType>, { tokenType: 'TOTP' }>): string | undefined {
  switch (body.tokenType) {
    case 'PlainText':
    case 'RawCredential':
      return body.value;
    case 'JWT':
      return body.accessToken;
    case 'Certificate':
      return body.certificate;
    case 'SSHKey':
      return body.privateKey;
  }
}
