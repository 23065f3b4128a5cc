import { type Clock, type Secret, parseWireObject } from '@svault/shared';
import { type Egress, EgressFailed, EgressRefused } from '@svault/shared/egress';
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { PROVIDER_ANSWER_BYTES, TOKEN_TEXT } from '../refresh/provider-call.ts';

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
 * PROTOCOL.md section 5.4, `MINT_FAILED`. The caller learns no more than that. The log gets a reason of a closed list,
 * since a provider's answer could repeat what it was sent.
 */
export function mintFailed(reason: string): Error {
  return new ApiError('MINT_FAILED', 'the credential could not be made', { reason });
}

/**
 * The error for a failed call to a provider: MINT_FAILED, or PROVIDER_TIMEOUT if it did not answer in time. It does not
 * keep the original error, to which some libraries attach the request.
 */
export function failedCall(error: unknown): Error {
  if (error instanceof EgressRefused) return mintFailed(`refused by the address rules: ${error.reason}`);
  if (!(error instanceof EgressFailed)) return mintFailed('unreadable answer');
  if (error.kind === 'timeout')
    return new ApiError('PROVIDER_TIMEOUT', 'the provider did not answer in time', { reason: error.kind });
  return mintFailed(`no answer: ${error.kind}`);
}

/** The reason, if it is one that the provider documents; the log never gets other text of an answer. */
export function listedReason(text: unknown, list: readonly string[]): string {
  return list.find((known) => known === text) ?? 'a reason that is not listed';
}

/**
 * Requests a token from a provider that speaks JSON.
 *
 * @param options.reasonOf names a rejection for the log, from its body
 * @throws ApiError MINT_FAILED, PROVIDER_TIMEOUT
 */
export async function askProvider<T>(
  { egress, timeoutMs }: Pick<MinterTools, 'egress' | 'timeoutMs'>,
  call: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  },
  options: { readonly answer: z.ZodType<T>; readonly reasonOf?: (body: Record<string, unknown>) => string },
): Promise<T> {
  const maxBytes = PROVIDER_ANSWER_BYTES;
  const { status, body } = await egress
    .request({ method: 'POST', ...call, timeoutMs, maxBytes, alone: true })
    .catch((error: unknown) => {
      throw failedCall(error);
    });
  const json = readObject(body);
  if (status < 200 || status > 299) {
    const reason = json && options.reasonOf?.(json);
    throw mintFailed(`status ${status}${reason === undefined ? '' : `, ${reason}`}`);
  }
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
