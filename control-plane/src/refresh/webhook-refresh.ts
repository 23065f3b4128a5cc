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
import { WebhookCallFailed } from '../webhook/call-failed.ts';
import type { WebhookClient } from '../webhook/retrying-client.ts';
import { type ClientAuthentication, authenticateClient } from './client-authentication.ts';
import type { RefreshReason, RefreshResult } from './refresh-result.ts';

/**
 * Tells the webhook that a token wants refreshing; it does so by itself (protocol.md section 7, `/v1/refresh-notify`).
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
  // The scheduler has pauses of its own, and other accounts to see to.
  const retry = reason !== 'expiring';
  const answer = await webhook.call(link, { path: '/v1/refresh-notify', body, retry });
  if (refreshAcceptedSchema.safeParse(answer.body).success) return { outcome: 'accepted' };
  const done = refreshDoneSchema.safeParse(answer.body);
  if (!done.success) throw new WebhookCallFailed('garbage', 'an answer that is none of /v1/refresh-notify');
  const { outcome, expiryTime: until } = done.data;
  if (outcome !== 'refreshed') return { outcome };
  return { outcome, ...(until !== undefined && { expiryTime: until }) };
}

export interface Mediation {
  readonly webhook: WebhookClient;
  readonly stores: Pick<Stores, 'providers' | 'vaults' | 'webhookLinks'>;
  readonly masterKeys: MasterKeys;
  readonly clock: Clock;
}

/**
 * The two phases of `/v1/refresh` (protocol.md section 7). The webhook calls the provider; what goes there from here is what
 * proves the client, and only where the lease names a provider of this account by both values. Otherwise nothing is sent, and
 * the lease ends by itself.
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
  if (lease === undefined) throw notTheProtocol();
  const provider = await providerFor(stores.providers, link, lease);
  if (provider === undefined) return { outcome: 'provider_not_configured' };
  const proof = await authenticateClient(provider, masterKeys, clock);
  // The answer may have taken its time: a lock or an unbinding that was answered meanwhile holds.
  if (!(await isStillBound(stores, link))) return { outcome: 'failed' };
  const answer = await call({ phase: 'update', leaseId: lease.leaseId, ...revealed(proof) });

  const done = refreshOutcomeSchema.safeParse(answer).data;
  if (done === undefined) throw notTheProtocol();
  const { outcome, expiryTime } = done;
  if (outcome === 'refreshed') return { outcome, ...(expiryTime !== undefined && { expiryTime }) };
  return { outcome: outcome === 'invalid_grant' ? 'reauth_needed' : 'failed' };
}

/** By what the lease says, byte for byte; a secret is no help where the webhook needs an assertion, nor the reverse. */
async function providerFor(
  providers: Pick<ProviderStore, 'find'>,
  { vaultId }: WebhookLink,
  { tokenUrl, clientId, authMethod }: RefreshLease,
): Promise<StoredProvider | undefined> {
  const provider = await providers.find(vaultId, tokenUrl, clientId);
  const byAssertion = provider?.authMethod === 'private_key_jwt';
  return authMethod !== 'none' && byAssertion === (authMethod === 'private_key_jwt') ? provider : undefined;
}

async function isStillBound(
  { vaults, webhookLinks }: Mediation['stores'],
  { vaultId, webhookId }: WebhookLink,
): Promise<boolean> {
  const [vault, link] = await Promise.all([vaults.get(vaultId), webhookLinks.find(vaultId)]);
  return vault !== undefined && vault.lockedAt === undefined && link?.webhookId === webhookId;
}

/** At the last moment, into the body of a signed request to the account's own webhook. */
const revealed = (proof: ClientAuthentication): Readonly<Record<string, string>> =>
  'clientSecret' in proof
    ? { clientSecret: proof.clientSecret.reveal() }
    : { clientAssertion: proof.clientAssertion.reveal() };

const notTheProtocol = () => new WebhookCallFailed('garbage', 'an answer that is none of /v1/refresh');
