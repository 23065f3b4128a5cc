import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Clock, formatTime, newId } from '@svault/shared';
import { type Actor, eventBy } from '../core/actor.ts';
import { type ArgumentIssue, invalidArgument, notFound, refusal } from '../core/errors.ts';
import type { Stores } from '../core/stores.ts';
import { MAX_PROVIDERS, type Provider, type StoredProvider } from '../core/provider.ts';
import type { CheckedProvider, CheckedSecret } from './provider-input.ts';
import { wrapProviderSecret } from '../refresh/client-authentication.ts';

type ProviderStores = Pick<Stores, 'audit' | 'providers'>;

export interface ProviderKeeping {
  readonly masterKeys: MasterKeys;
  readonly clock: Clock;
}

/** @throws AppError CONFLICT where the account has one of this token URL and client id, or as many as it may */
export async function createProvider(
  stores: ProviderStores,
  actor: Actor,
  input: CheckedProvider,
  { masterKeys, clock }: ProviderKeeping,
): Promise<Provider> {
  const { vaultId } = actor;
  if ((await stores.providers.count(vaultId, MAX_PROVIDERS)) >= MAX_PROVIDERS)
    throw refusal(
      'CONFLICT',
      `An account has at most ${MAX_PROVIDERS} providers. Delete one to make another.`,
    );
  const now = formatTime(clock.now());
  const { secret, ...settings } = input;
  const provider = { ...settings, id: newId('prv'), vaultId, createdAt: now, updatedAt: now };
  const stored = { ...provider, secretWrapped: wrapProviderSecret(provider, secret, masterKeys) };
  if (!(await stores.providers.add(stored))) throw takenAlready();
  const { id: providerId, name } = provider;
  await stores.audit.append(eventBy(actor, 'PROVIDER_CREATED', { detail: { providerId, name } }));
  return provider;
}

/** Members left out stay; a new secret comes with everything that is said of it. */
export interface ProviderChanges {
  readonly name?: string | undefined;
  readonly tokenUrl?: string | undefined;
  readonly clientId?: string | undefined;
  readonly secret?: CheckedSecret | undefined;
}

/**
 * A secret that is kept goes to no other provider than the one it was given for: who may change settings, and was never
 * told the secret, could have it sent where it can be read.
 *
 * @param members what the request named, for the log
 * @throws AppError NOT_FOUND, CONFLICT; INVALID_ARGUMENT for another token URL or client id without the secret
 */
export async function updateProvider(
  stores: ProviderStores,
  actor: Actor,
  id: string,
  changes: ProviderChanges,
  { members, masterKeys, clock }: ProviderKeeping & { readonly members: readonly string[] },
): Promise<Provider> {
  const former = await providerOf(stores, actor, id);
  if (members.length === 0) return former;
  const { name = former.name, tokenUrl = former.tokenUrl, clientId = former.clientId } = changes;
  const target = { ...former, name, tokenUrl, clientId, updatedAt: formatTime(clock.now()) };
  const provider = changes.secret
    ? withSecret(target, changes.secret, masterKeys)
    : withFormerSecret(target, former);
  const other = await stores.providers.find(actor.vaultId, tokenUrl, clientId);
  if (other !== undefined && other.id !== former.id) throw takenAlready();
  await stores.providers.replace(provider);
  const detail = { providerId: former.id, members };
  await stores.audit.append(eventBy(actor, 'PROVIDER_UPDATED', { detail }));
  return provider;
}

function withSecret(target: StoredProvider, given: CheckedSecret, masterKeys: MasterKeys): StoredProvider {
  const { secret, ...settings } = given;
  const provider = { ...target, ...settings };
  return { ...provider, secretWrapped: wrapProviderSecret(provider, secret, masterKeys) };
}

function withFormerSecret(target: StoredProvider, former: StoredProvider): StoredProvider {
  const moved = (['tokenUrl', 'clientId'] as const).filter((member) => target[member] !== former[member]);
  const issues: ArgumentIssue[] = moved.map((path) => ({
    path,
    message: 'can be changed only together with the secret, given anew',
  }));
  if (issues.length > 0) throw invalidArgument(issues);
  return target;
}

/** Tokens of this provider end with their time, unless the webhook can refresh them by itself. */
export async function deleteProvider(stores: ProviderStores, actor: Actor, id: string): Promise<void> {
  const { id: providerId, name } = await providerOf(stores, actor, id);
  await stores.providers.remove(actor.vaultId, providerId);
  await stores.audit.append(eventBy(actor, 'PROVIDER_DELETED', { detail: { providerId, name } }));
}

async function providerOf(
  stores: Pick<Stores, 'providers'>,
  actor: Actor,
  id: string,
): Promise<StoredProvider> {
  const provider = await stores.providers.get(actor.vaultId, id);
  if (provider === undefined) throw notFound();
  return provider;
}

const takenAlready = () =>
  refusal(
    'CONFLICT',
    'There is a provider of this token URL and client id already. Change that one, or delete it first.',
  );
