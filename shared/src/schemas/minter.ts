import * as z from 'zod';
import { outgoingUrlSchema } from './destinations.ts';
import { secretSchema } from './members.ts';

/** A region becomes part of a host name, so it must not contain anything else. */
const regionSchema = z.string().regex(/^[a-z]{2,4}(-[a-z]{2,12}){1,3}-[0-9]{1,2}$/, 'not a region');
const roleArnSchema = z
  .string()
  .regex(
    /^arn:aws(-[a-z]{1,8}){0,3}:iam::[0-9]{12}:role\/[A-Za-z0-9_+=,.@/-]{1,512}$/,
    'not the ARN of a role',
  );
/** STS accepts no longer policies; an invalid policy must not become none. */
const sessionPolicySchema = z.string().max(2048).refine(isJsonObject, 'not a JSON object');
/** GetSessionToken: 36 hours; with a role 12 hours. */
const MAX_SECONDS = 129_600;
const MAX_ROLE_SECONDS = 43_200;

const awsSts = z
  .strictObject({
    type: z.literal('aws-sts'),
    accessKeyId: z.string().regex(/^[A-Za-z0-9_.-]{1,128}$/, 'not an access key id'),
    secretAccessKey: secretSchema,
    roleArn: roleArnSchema.optional(),
    region: regionSchema.optional(),
    durationSeconds: z.int().min(900).max(MAX_SECONDS).optional(),
    sessionPolicy: sessionPolicySchema.optional(),
  })
  .refine((minter) => minter.sessionPolicy === undefined || minter.roleArn !== undefined, {
    message: 'a session policy restricts a role: it needs roleArn',
    path: ['sessionPolicy'],
  })
  .refine((minter) => minter.roleArn === undefined || (minter.durationSeconds ?? 0) <= MAX_ROLE_SECONDS, {
    message: 'a role is assumed for at most 12 hours',
    path: ['durationSeconds'],
  });

const gcpServiceAccount = z.strictObject({
  type: z.literal('gcp-service-account'),
  clientEmail: z.string().regex(/^[\x21-\x7e]{1,320}$/, 'not an address'),
  /** PEM. */
  privateKey: secretSchema,
  tokenUri: outgoingUrlSchema.optional(),
  /** Each a scope-token of RFC 6749 section 3.3. */
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/, 'not a scope'))
    .min(1)
    .max(100),
});

const githubApp = z.strictObject({
  type: z.literal('github-app'),
  /** The app's number or client id. */
  appId: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'not the id of an app'),
  /** Stands in a path. */
  installationId: z.string().regex(/^[0-9]{1,20}$/, 'not the number of an installation'),
  /** PEM. */
  privateKey: secretSchema,
  apiUrl: outgoingUrlSchema.refine((url) => !url.includes('?'), 'paths are put to this address').optional(),
  // GitHub takes an empty list for no restriction at all.
  permissions: z
    .record(z.string().regex(/^[a-z][a-z_]{0,63}$/, 'not a permission'), z.enum(['read', 'write', 'admin']))
    .refine((permissions) => Object.keys(permissions).length > 0, 'names no permission')
    .optional(),
  repositories: z
    .array(z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/, 'not the name of a repository'))
    .min(1)
    .max(500)
    .optional(),
});

/** PROTOCOL.md section 5.5: how a `RawCredential` is turned into a short-lived one. Unknown members are refused. */
export const minterSchema = z.discriminatedUnion('type', [awsSts, gcpServiceAccount, githubApp]);
export type Minter = z.infer<typeof minterSchema>;

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
