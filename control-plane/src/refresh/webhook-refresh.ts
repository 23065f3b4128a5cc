import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock } from '@svault/shared';
import {
  type RefreshLease,
  type TokenMetadata,
  refreshAcceptedSchema,
  refreshDoneSchema,
  refreshLeaseSchema,
  refreshOutcomeSchema,
} from '@svault/shared/schemas';
import type { ProviderStore, StoredProvider } from '../core/provider.ts';
import type { Stores } from '../core/stores.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import { garbage } from '../webhook/call-failed.ts';
import type { WebhookClient } from '../webhook/retrying-client.ts';
import { authenticateClient } from './client-authentication.ts';
import type { RefreshReason, RefreshResult } from './refresh-result.ts';

/**
 * `/v1/refresh-notify`: the webhook refreshes the token by itself (PROTOCOL.md REF-01).
 *
 * @throws WebhookCallFailed
 */
export async function refreshByNotice(
  webhook: WebhookClient,
  link: WebhookLink,
  { serviceName, expiryTime, provider }: TokenMetadata,
  reason: RefreshReason,
): Promise<RefreshResult> {
  const body = {
    serviceName,
    reason,
    ...(expiryTime !== undefined && { expiresAt: expiryTime }),
    ...(provider && { tokenUrl: provider.tokenUrl, clientId: provider.clientId }),
  };
  // The scheduler makes its own pauses, and serves other accounts meanwhile.
  const retry = reason !== 'expiring';
  const answer = await webhook.call(link, { path: '/v1/refresh-notify', body, retry });
  if (refreshAcceptedSchema.safeParse(answer.body).success) return { outcome: 'accepted' };
  const done = refreshDoneSchema.safeParse(answer.body).data;
  if (done === undefined) throw garbage('/v1/refresh-notify');
  if (done.outcome === 'refreshed') return refreshed(done.expiryTime);
  return done.outcome === 'failed' ? notRefreshed('failed', done.providerReason) : { outcome: done.outcome };
}

export interface Mediation {
  readonly webhook: WebhookClient;
  readonly stores: Pick<Stores, 'providers' | 'vaults' | 'webhookLinks'>;
  readonly masterKeys: MasterKeys;
  readonly clock: Clock;
}

/**
 * `/v1/refresh`, in two phases: the webhook calls the provider, and the control plane authenticates the client. It sends the
 * authentication only where both values of the lease match a provider of this account (PROTOCOL.md REF-22). Otherwise it
 * sends nothing, and the lease expires.
 *
 * @throws WebhookCallFailed
 */
export async function refreshByMediation(
  { webhook, stores, masterKeys, clock }: Mediation,
  link: WebhookLink,
  serviceName: string,
): Promise<RefreshResult> {
  const call = async (body: object) => (await webhook.call(link, { path: '/v1/refresh', body })).body;

  const lease = refreshLeaseSchema.safeParse(await call({ phase: 'get', serviceName })).data;
  if (lease === undefined) throw garbage('/v1/refresh');
  const provider = await providerFor(stores.providers, link, lease);
  if (provider === undefined) return { outcome: 'provider_not_configured' };
  const authentication = await authenticateClient(provider, masterKeys, clock);
  // The owner may have locked or unbound during the first call.
  if (!(await isStillBound(stores, link))) return { outcome: 'failed' };
  // The secret is revealed here, into the body of a signed request to the account's own webhook.
  const revealed =
    'clientSecret' in authentication
      ? { clientSecret: authentication.clientSecret.reveal() }
      : { clientAssertion: authentication.clientAssertion.reveal() };
  const answer = await call({ phase: 'update', leaseId: lease.leaseId, ...revealed });

  const done = refreshOutcomeSchema.safeParse(answer).data;
  if (done === undefined) throw garbage('/v1/refresh');
  if (done.outcome === 'refreshed') return refreshed(done.expiryTime);
  return notRefreshed(done.outcome === 'invalid_grant' ? 'reauth_needed' : 'failed', done.providerReason);
}

/** Compares byte for byte. A secret does not help where the webhook needs an assertion, nor the reverse. */
async function providerFor(
  providers: Pick<ProviderStore, 'find'>,
  { vaultId }: WebhookLink,
  { tokenUrl, clientId, authMethod }: RefreshLease,
): Promise<StoredProvider | undefined> {
  const provider = await providers.find(vaultId, tokenUrl, clientId);
  const byAssertion = provider?.authMethod === 'private_key_jwt';
  return authMethod !== 'none' && byAssertion === (authMethod === 'private_key_jwt') ? provider : undefined;
}

/** Whether the vault is unlocked and bound to the same webhook. */
export async function isStillBound(
  { vaults, webhookLinks }: Pick<Stores, 'vaults' | 'webhookLinks'>,
  { vaultId, webhookId }: WebhookLink,
): Promise<boolean> {
  const [vault, link] = await Promise.all([vaults.get(vaultId), webhookLinks.find(vaultId)]);
  return vault !== undefined && vault.lockedAt === undefined && link?.webhookId === webhookId;
}

const notRefreshed = (
  outcome: 'failed' | 'reauth_needed',
  providerReason: string | undefined,
): RefreshResult => ({ outcome, ...(providerReason !== undefined && { providerReason }) });

const refreshed = (expiryTime: string | undefined): RefreshResult => ({
  outcome: 'refreshed',
  ...(expiryTime !== undefined && { expiryTime }),
});
