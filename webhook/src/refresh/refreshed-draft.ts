import { formatTime } from '@svault/shared';
import type { RecordDraft } from '../vault/record.ts';
import type { OpenRecord } from '../vault/vault.ts';
import type { ProviderAnswer } from './token-answer.ts';

/**
 * What is stored once a provider answered: all that was sealed with the former pair stays. Pure.
 *
 * @param askedAtMs when the provider was asked: a token does not live longer than from there
 */
export function refreshedDraft(
  record: OpenRecord,
  pair: Extract<ProviderAnswer, { kind: 'pair' }>,
  askedAtMs: number,
): RecordDraft {
  const { settings } = record;
  const former = record.secret.reveal();
  const { accessToken, refreshToken, expiresInSeconds } = pair;
  const expiryTime =
    expiresInSeconds === undefined ? undefined : formatTime(askedAtMs + Math.floor(expiresInSeconds * 1000));
  return {
    settings: { ...settings, expiryTime, empty: false },
    secret: {
      ...former,
      accessToken: accessToken.reveal(),
      refreshToken: refreshToken?.reveal() ?? former.refreshToken,
    },
  };
}
