import type { Secret } from '@svault/shared';
import { type Egress, EgressFailed, EgressRefused } from '@svault/shared/egress';
import { PROVIDER_ANSWER_BYTES, PROVIDER_CALL_MS } from '../provider/provider-bounds.ts';
import type { SealedProvider } from '../vault/record.ts';
import { type ProviderAnswer, readTokenAnswer } from './token-answer.ts';
import { type ClientAuthentication, refreshRequest } from './token-request.ts';

/**
 * Calls the provider, once. Never throws: whatever goes wrong, the refresh token may be spent.
 *
 * @param options.timeoutMs for the whole call
 */
export async function callProvider(
  egress: Pick<Egress, 'request'>,
  call: {
    readonly provider: SealedProvider;
    readonly refreshToken: Secret;
    readonly authentication: ClientAuthentication;
  },
  { timeoutMs = PROVIDER_CALL_MS }: { readonly timeoutMs?: number } = {},
): Promise<ProviderAnswer> {
  const { provider, refreshToken, authentication } = call;
  try {
    const answer = await egress.request({
      method: 'POST',
      url: provider.tokenUrl,
      ...refreshRequest(provider, refreshToken, authentication),
      timeoutMs,
      maxBytes: PROVIDER_ANSWER_BYTES,
      // What comes of a refresh token after a broken call is not known.
      alone: true,
    });
    return readTokenAnswer(answer);
  } catch (error) {
    if (error instanceof EgressFailed && error.kind === 'timeout')
      return { kind: 'failed', code: 'PROVIDER_TIMEOUT', reason: 'timeout' };
    if (error instanceof EgressFailed) return failed(error.kind);
    // Another error may hold the request itself.
    return failed(
      error instanceof EgressRefused ? `egress refused: ${error.reason}` : 'the call could not be made',
    );
  }
}

const failed = (reason: string): ProviderAnswer => ({ kind: 'failed', code: 'PROVIDER_ERROR', reason });
