import { Secret, formatTime, sha256, toHex, utf8 } from '@svault/shared';
import { type Egress, type Resolve, createEgress } from '@svault/shared/egress';
import * as z from 'zod';
import { providerReason } from '../refresh/provider-reason.ts';
import type { SealedMinter } from '../vault/record.ts';
import { type MinterTools, type NewCredential, failedCall, mintFailed, mintedTextSchema } from './minter.ts';
import type { StsFailure } from './sts-call.ts';

/** The STS endpoint that the operator's settings name, and an egress client that permits exactly its host. */
export interface StsEndpoint {
  readonly url: string;
  readonly egress: Egress;
}

/**
 * PROTOCOL.md section 6: the operator's endpoint is exempt from the address rules; no other calls use this client.
 *
 * @param resolve instead of the machine's resolver
 * @throws RangeError if the host is neither a plain name nor an address
 */
export function stsEndpoint(url: string, resolve?: Resolve): StsEndpoint {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  return { url, egress: createEgress({ allow: [host], ...(resolve !== undefined && { resolve }) }) };
}

type AwsSettings = Extract<SealedMinter, { type: 'aws-sts' }>;

const DEFAULT_REGION = 'us-east-1';

/** Partitions whose endpoints are public; the others are reached by `SV_AWS_STS_ENDPOINT`. */
const SUFFIXES: ReadonlyArray<readonly [regionStart: string, suffix: string]> = [
  ['cn-', 'amazonaws.com.cn'],
  ['eusc-', 'amazonaws.eu'],
];

const credentialsSchema = z.object({
  AccessKeyId: mintedTextSchema,
  SecretAccessKey: mintedTextSchema,
  SessionToken: mintedTextSchema,
  Expiration: z.date(),
});

/**
 * Temporary credentials, of the role that is sealed with the key, otherwise of the key's user. As text they are the
 * JSON that AWS's tools read from a `credential_process`.
 *
 * @param options.endpoint of the operator's settings, instead of the region's public one
 * @param options.caller the ticket's `sub`, by which AWS's log distinguishes callers
 * @throws ApiError MINT_FAILED, PROVIDER_TIMEOUT
 */
export async function mintAwsCredentials(
  tools: MinterTools,
  settings: AwsSettings,
  secretAccessKey: Secret,
  options: { readonly endpoint: string | undefined; readonly caller: string },
): Promise<NewCredential> {
  const { accessKeyId, region = DEFAULT_REGION, durationSeconds, roleArn, sessionPolicy } = settings;
  // The SDK takes memory and time to load, so it is loaded at first use.
  const { callSts } = await import('./sts-call.ts');
  const answer = await callSts(tools, {
    endpoint: options.endpoint ?? publicEndpoint(region),
    region,
    accessKeyId,
    secretAccessKey,
    durationSeconds,
    role:
      roleArn === undefined
        ? undefined
        : { roleArn, sessionPolicy, sessionName: sessionName(options.caller) },
  });
  if ('failure' in answer) throw refusedBy(answer.failure, secretAccessKey);
  const credentials = credentialsSchema.safeParse(answer.credentials);
  if (!credentials.success) throw mintFailed('unreadable answer');
  const { Expiration, ...keys } = credentials.data;
  const expiryMs = Expiration.getTime();
  const text = JSON.stringify({ Version: 1, ...keys, Expiration: formatTime(expiryMs) });
  return { accessToken: new Secret(text), expiryMs };
}

/** AWS takes 2 to 64 of these characters; our ids are such names; a hash distinguishes other callers. */
function sessionName(caller: string): string {
  if (/^[A-Za-z0-9_=,.@-]{2,64}$/.test(caller)) return caller;
  return `sv-${toHex(sha256(utf8(caller))).slice(0, 32)}`;
}

function publicEndpoint(region: string): string {
  const suffix = SUFFIXES.find(([start]) => region.startsWith(start))?.[1] ?? 'amazonaws.com';
  return `https://sts.${region}.${suffix}`;
}

/** AWS STS, "Common errors": the SDK gives their code as the name of its error. */
function refusedBy({ cause, status }: StsFailure, sent: Secret): Error {
  if (status === undefined || !(cause instanceof Error)) return failedCall(cause);
  if (status >= 200 && status <= 299) return mintFailed('unreadable answer');
  return mintFailed(providerReason({ status, code: cause.name, description: cause.message }, [sent]));
}
