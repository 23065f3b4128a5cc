import { formatTime } from '@svault/shared';
import type { RecordDraft } from '../vault/record.ts';
import type { OpenRecord } from '../vault/vault.ts';
import type { ProviderAnswer } from './provider-call.ts';

/** Whether a provider can be asked for a new token, by the webhook or by the service (protocol section 5.4). */
export function isRefreshable({ settings }: Pick<OpenRecord, 'settings'>): boolean {
  return settings.provider !== undefined && settings.hasRefreshToken;
}

/**
 * Whether two versions hold one refresh token: stored twice, or brought back by a restore. What spends it spends it in
 * both. Pure.
 */
export function hasSameGrant(one: OpenRecord, other: OpenRecord): boolean {
  const [a, b] = [one.settings.provider, other.settings.provider];
  return (
    a?.tokenUrl === b?.tokenUrl &&
    a?.clientId === b?.clientId &&
    one.secret.reveal().refreshToken === other.secret.reveal().refreshToken
  );
}

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
