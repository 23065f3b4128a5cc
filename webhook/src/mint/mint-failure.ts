import { EgressFailed, EgressRefused } from '@svault/shared/egress';
import { refusal } from '../errors.ts';

/**
 * Protocol section 5.4, `MINT_FAILED`. The caller learns no more than that; the log learns a reason of a closed list,
 * since whatever a provider answers could hold what it was sent.
 */
export function mintFailed(reason: string): Error {
  return refusal('MINT_FAILED', 'the credential could not be made', { reason });
}

/**
 * What a failed call to a provider stands for: MINT_FAILED, or PROVIDER_TIMEOUT where it did not answer in time. The
 * error itself is not kept: some libraries hang the request on it.
 */
export function failedCall(error: unknown): Error {
  if (error instanceof EgressRefused) return mintFailed(`refused by the address rules: ${error.reason}`);
  if (!(error instanceof EgressFailed)) return mintFailed('unreadable answer');
  if (error.kind === 'timeout')
    return refusal('PROVIDER_TIMEOUT', 'the provider did not answer in time', { reason: error.kind });
  return mintFailed(`no answer: ${error.kind}`);
}

/** The reason, where it is one of those that a provider's page lists; the text of an answer goes nowhere. */
export function listedReason(text: unknown, list: readonly string[]): string {
  return list.find((known) => known === text) ?? 'a reason that is not listed';
}
