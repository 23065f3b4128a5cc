import type { OpenRecord } from '../vault/vault.ts';

/** Whether a provider can be asked for a new token, by the webhook or by the service (protocol section 5.4). */
export function isRefreshable({ settings }: Pick<OpenRecord, 'settings'>): boolean {
  return settings.provider !== undefined && settings.hasRefreshToken;
}

/**
 * Whether two versions hold one grant: stored twice, or brought back by a restore. What spends its refresh token spends it
 * in both. The client's secret is part of it: who stores a refresh token that it came to know, but could not use, must not
 * be given the next one. Pure.
 */
export function hasSameGrant(one: OpenRecord, other: OpenRecord): boolean {
  const [a, b] = [one.settings.provider, other.settings.provider];
  const [ours, theirs] = [one.secret.reveal(), other.secret.reveal()];
  return (
    a?.tokenUrl === b?.tokenUrl &&
    a?.clientId === b?.clientId &&
    ours.refreshToken === theirs.refreshToken &&
    ours.clientSecret === theirs.clientSecret
  );
}
