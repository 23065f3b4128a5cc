import { isIP } from 'node:net';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Clock, Secret, formatTime, newId } from '@svault/shared';
import { parseAllowList } from '@svault/shared/egress';
import { ownOf, recordChange } from '../core/change.ts';
import { ApiError, invalidArgument } from '../core/errors.ts';
import {
  type AssertionAlgorithm,
  type ClientAuthMethod,
  MAX_PROVIDERS,
  type Provider,
} from '../core/provider.ts';
import type { Change } from '../core/stores.ts';
import { canSignBy, wrapProviderSecret } from '../refresh/client-authentication.ts';
import { hasSecretInQuery } from './proxy-settings.ts';

interface ProviderOptions {
  readonly masterKeys: MasterKeys;
  readonly clock: Clock;
}

/** @throws ApiError CONFLICT where the account has one of this token URL and client id, or as many as it may */
export async function createProvider(
  change: Change,
  { secret, ...settings }: CheckedSecret & Pick<Provider, 'clientId' | 'name' | 'tokenUrl'>,
  { masterKeys, clock }: ProviderOptions,
): Promise<Provider> {
  const { vaultId } = change.actor;
  if ((await change.providers.count(vaultId, MAX_PROVIDERS)) >= MAX_PROVIDERS)
    throw new ApiError(
      'CONFLICT',
      `An account has at most ${MAX_PROVIDERS} providers. Delete one to make another.`,
    );
  const now = formatTime(clock.now());
  const provider = { ...settings, id: newId('prv'), vaultId, createdAt: now, updatedAt: now };
  const secretWrapped = wrapProviderSecret(provider, secret, masterKeys);
  if (!(await change.providers.add({ ...provider, secretWrapped }))) throw alreadyExists();
  const { id: providerId, name } = provider;
  await recordChange(change, 'PROVIDER_CREATED', { detail: { providerId, name } });
  return provider;
}

/**
 * Changes a provider; omitted members stay. A stored secret goes to no other provider than the one it was given for: an admin
 * who does not know it could otherwise have it sent where they can read it.
 *
 * @param members what the request named, for the log
 * @throws ApiError NOT_FOUND, CONFLICT; INVALID_ARGUMENT for another token URL or client id without the secret
 */
export async function updateProvider(
  change: Change,
  id: string,
  changes: {
    readonly name?: string | undefined;
    readonly tokenUrl?: string | undefined;
    readonly clientId?: string | undefined;
    readonly secret?: CheckedSecret | undefined;
  },
  { members, masterKeys, clock }: ProviderOptions & { readonly members: readonly string[] },
): Promise<Provider> {
  const before = await ownOf(change.providers, change.actor, id);
  if (members.length === 0) return before;
  const { name = before.name, tokenUrl = before.tokenUrl, clientId = before.clientId } = changes;
  const { secret, ...settings } = changes.secret ?? {};
  const target = { ...before, ...settings, name, tokenUrl, clientId, updatedAt: formatTime(clock.now()) };
  const moved = (['tokenUrl', 'clientId'] as const).filter((member) => target[member] !== before[member]);
  if (secret === undefined) rejectAll(moved, 'can be changed only together with the secret, given anew');
  const provider = secret
    ? { ...target, secretWrapped: wrapProviderSecret(target, secret, masterKeys) }
    : target;
  const other = await change.providers.find(before.vaultId, tokenUrl, clientId);
  if (other !== undefined && other.id !== before.id) throw alreadyExists();
  await change.providers.replace(provider);
  await recordChange(change, 'PROVIDER_UPDATED', { detail: { providerId: before.id, members } });
  return provider;
}

/** Its tokens are no longer refreshed, unless the webhook can refresh them by itself. */
export async function deleteProvider(change: Change, id: string): Promise<void> {
  const { vaultId, id: providerId, name } = await ownOf(change.providers, change.actor, id);
  await change.providers.remove(vaultId, providerId);
  await recordChange(change, 'PROVIDER_DELETED', { detail: { providerId, name } });
}

const alreadyExists = () =>
  new ApiError(
    'CONFLICT',
    'There is a provider of this token URL and client id already. Change that one, or delete it first.',
  );

/** @returns what is wrong with a provider's token URL, as the end of a sentence; undefined for a good one */
export type TokenUrlRule = (tokenUrl: string) => string | undefined;

/**
 * The rule for token URLs. Nobody here calls them, but a client secret is sent there. The webhook checks where a host name
 * leads when it calls.
 *
 * @param allow entries of `SV_EGRESS_ALLOW`, the only addresses that may be `http:` (PROTOCOL.md section 6)
 * @returns a rule for http(s) addresses without userinfo and fragment (`outgoingUrlSchema`)
 */
export function createTokenUrlRule(allow: readonly string[]): TokenUrlRule {
  const named = parseAllowList(allow);
  return (tokenUrl) => {
    const url = new URL(tokenUrl);
    const host = url.hostname.replaceAll(/^\[|\]$/g, '');
    const mayBePlain = isIP(host) === 0 ? allow.length > 0 : named.namesHost(host);
    if (url.protocol !== 'https:' && !mayBePlain) return 'must start with https://';
    return hasSecretInQuery(url) ? 'must have no secret in its query' : undefined;
  };
}

/** @throws ApiError INVALID_ARGUMENT */
export function checkTokenUrl(tokenUrl: string | undefined, problemOf: TokenUrlRule): void {
  const problem = tokenUrl === undefined ? undefined : problemOf(tokenUrl);
  if (problem !== undefined) rejectAll(['tokenUrl'], problem);
}

/** How a client authenticates, and its secret or key, checked. */
interface CheckedSecret extends Pick<Provider, 'algorithm' | 'authMethod' | 'keyId'> {
  readonly secret: Secret;
}

/** The same as a request names it. */
interface GivenSecret {
  readonly authMethod?: ClientAuthMethod | undefined;
  readonly clientSecret?: string | undefined;
  readonly privateKey?: string | undefined;
  readonly algorithm?: AssertionAlgorithm | undefined;
  readonly keyId?: string | undefined;
}

const DEFAULT_ALGORITHM: AssertionAlgorithm = 'RS256';
const SECRET_MEMBERS = ['clientSecret'] as const;
const KEY_MEMBERS = ['privateKey', 'algorithm', 'keyId'] as const;

/**
 * Checks a secret, which comes with its method, or a private key with its algorithm (`RS256` by default) and key id. The key
 * signs once, so that its owner learns at once that it does not fit.
 *
 * @throws ApiError INVALID_ARGUMENT
 */
export async function checkSecret(
  given: GivenSecret & { readonly authMethod: ClientAuthMethod },
): Promise<CheckedSecret> {
  const { authMethod, clientSecret, privateKey, algorithm = DEFAULT_ALGORITHM, keyId } = given;
  const byKey = authMethod === 'private_key_jwt';
  const value = byKey ? privateKey : clientSecret;
  const foreign = (byKey ? SECRET_MEMBERS : KEY_MEMBERS).filter((member) => given[member] !== undefined);
  const issues = foreign.map((path) => ({ path, message: `is not for ${authMethod}` }));
  if (value === undefined)
    issues.unshift({ path: byKey ? 'privateKey' : 'clientSecret', message: `is what ${authMethod} needs` });
  if (value === undefined || issues.length > 0) throw invalidArgument(issues);
  const secret = new Secret(value);
  if (!byKey) return { authMethod, secret, algorithm: undefined, keyId: undefined };
  if (!(await canSignBy(algorithm, secret)))
    rejectAll(['privateKey'], `is no key for ${algorithm} in PEM, PKCS#8; RSA takes 2048 bits or more`);
  return { authMethod, secret, algorithm, keyId };
}

/** Checks the secret of a change. @returns undefined where the stored one stays */
export async function checkNewSecret(given: GivenSecret): Promise<CheckedSecret | undefined> {
  const { authMethod } = given;
  if (authMethod !== undefined) return checkSecret({ ...given, authMethod });
  const members = [...SECRET_MEMBERS, ...KEY_MEMBERS].filter((member) => given[member] !== undefined);
  rejectAll(members, 'comes together with authMethod');
  return undefined;
}

/** @throws ApiError INVALID_ARGUMENT where there is a path */
function rejectAll(paths: readonly string[], message: string): void {
  if (paths.length > 0) throw invalidArgument(paths.map((path) => ({ path, message })));
}
