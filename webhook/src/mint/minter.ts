import { type Clock, type Secret, parseWireObject } from '@svault/shared';
import { type Egress, EgressFailed, EgressRefused } from '@svault/shared/egress';
import * as z from 'zod';
import { ApiError } from '../errors.ts';
import { PROVIDER_ANSWER_BYTES, TOKEN_TEXT } from '../refresh/provider-call.ts';
import { type ProviderRejection, providerReason } from '../refresh/provider-reason.ts';

/** What every minter needs. */
export interface MinterTools {
  readonly egress: Pick<Egress, 'request'>;
  readonly clock: Clock;
  /** For one call. */
  readonly timeoutMs: number;
}

/** What a provider gave a minter. */
export interface NewCredential {
  readonly accessToken: Secret;
  /** Milliseconds since 1970; undefined if the provider named none. */
  readonly expiryMs: number | undefined;
}

/** A credential that was made on demand (PROTOCOL.md section 5.5). */
export interface Minted {
  /** The column "Delivered as `accessToken`" of PROTOCOL.md section 5.5. */
  readonly accessToken: Secret<string>;
  /** Expiry of the token, as PROTOCOL.md section 2 writes times. */
  readonly expiryTime?: string | undefined;
  /** TOTP: seconds for which the code is still valid, from 1. */
  readonly expiresIn?: number | undefined;
}

export const mintedTextSchema = z.string().regex(TOKEN_TEXT);

/**
 * PROTOCOL.md section 5.4, `MINT_FAILED`. An agent learns no more than that.
 *
 * @param reason for the owner and the log: it never repeats what a provider was sent
 */
export function mintFailed(reason: string): Error {
  return new ApiError(
    'MINT_FAILED',
    'The provider gave no credential. The owner of the credential sees the reason with svault get.',
    { reason },
  );
}

/**
 * The error for a failed call to a provider: MINT_FAILED, or PROVIDER_TIMEOUT if it did not answer in time. It does not
 * keep the original error, to which some libraries attach the request.
 */
export function failedCall(error: unknown): Error {
  if (error instanceof EgressRefused) return mintFailed(`refused by the address rules: ${error.reason}`);
  if (!(error instanceof EgressFailed)) return mintFailed('unreadable answer');
  if (error.kind === 'timeout')
    return new ApiError('PROVIDER_TIMEOUT', 'The provider did not answer in time. Try again later.', {
      reason: error.kind,
    });
  return mintFailed(`no answer: ${error.kind}`);
}

/**
 * Requests a token from a provider that speaks JSON.
 *
 * @param options.rejectionOf finds the provider's code and description in the body of a rejection
 * @param options.sent the secrets of the call, which no reason repeats
 * @throws ApiError MINT_FAILED, PROVIDER_TIMEOUT
 */
export async function askProvider<T>(
  { egress, timeoutMs }: Pick<MinterTools, 'egress' | 'timeoutMs'>,
  call: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  },
  options: {
    readonly answer: z.ZodType<T>;
    readonly rejectionOf: (body: Record<string, unknown>) => Omit<ProviderRejection, 'status'>;
    readonly sent: readonly Secret[];
  },
): Promise<T> {
  const maxBytes = PROVIDER_ANSWER_BYTES;
  const { status, body } = await egress
    .request({ method: 'POST', ...call, timeoutMs, maxBytes, alone: true })
    .catch((error: unknown) => {
      throw failedCall(error);
    });
  const json = readObject(body);
  if (status < 200 || status > 299)
    throw mintFailed(providerReason({ status, ...(json && options.rejectionOf(json)) }, options.sent));
  const answer = options.answer.safeParse(json);
  if (!answer.success) throw mintFailed('unreadable answer');
  return answer.data;
}

function readObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    return parseWireObject(bytes, { numbers: 'any' });
  } catch {
    return undefined;
  }
}
