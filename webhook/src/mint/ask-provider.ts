import { parseWireObject } from '@svault/shared';
import type { z } from 'zod';
import { PROVIDER_ANSWER_BYTES } from '../provider/provider-bounds.ts';
import { failedCall, mintFailed } from './mint-failure.ts';
import type { MinterTools } from './minting.ts';

/** A call to a provider that speaks JSON. */
export interface ProviderCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Asks a provider for a token.
 *
 * @param options.reasonOf names a refusal for the log, from its body
 * @throws AppError MINT_FAILED, PROVIDER_TIMEOUT
 */
export async function askProvider<T>(
  { egress, timeoutMs }: Pick<MinterTools, 'egress' | 'timeoutMs'>,
  call: ProviderCall,
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
