import { usage } from '../failure.ts';
import { parseBaseUrl } from '../http/service-address.ts';
import type { Invocation } from '../invocation.ts';
import type { ActingLogin } from './acting-login.ts';
import type { Context } from './context.ts';
import { KEY_FORMS, kindOfKey, shownKey } from './key-form.ts';

/** What the login of SVAULT_KEY is called; no login that is kept is called so. */
export const ENVIRONMENT_NAME = 'env';

/**
 * The login of a machine: SVAULT_KEY with SVAULT_BASE_URL. Neither is kept.
 *
 * @returns undefined without SVAULT_KEY
 * @throws Failure usage where one of the two is missing or malformed; an empty key too, since going on as somebody else is not
 *   what a script meant whose key did not arrive
 */
export function environmentLogin({ env }: Pick<Invocation, 'env'>): ActingLogin | undefined {
  const { SVAULT_KEY: key, SVAULT_BASE_URL: address } = env;
  if (key === undefined) return undefined;
  const kind = kindOfKey(key);
  if (kind === undefined) throw usage(`SVAULT_KEY is no key: ${KEY_FORMS}; unset it to act with a login`);
  if (address === undefined || address === '')
    throw usage('SVAULT_KEY needs SVAULT_BASE_URL beside it: the service that the key is of');
  const common = { name: ENVIRONMENT_NAME, baseUrl: parseBaseUrl(address) };
  const context: Context =
    kind === 'agent' ? { ...common, kind, keyPrefix: shownKey(key) } : { ...common, kind, email: '' };
  return {
    context,
    rememberedAs: () => nameOfKey(key),
    authorization: async () => `Bearer ${key}`,
    renewed: async () => undefined,
    sealingKey: async () => undefined,
  };
}

/**
 * One name per key, since another key at the same service may be of another account, with another webhook. The service cannot
 * choose it, as it could an account's id. A key has 256 random bits, so its hash gives nothing away.
 */
async function nameOfKey(key: string): Promise<string> {
  const { hash } = await import('node:crypto');
  return `${ENVIRONMENT_NAME}:${hash('sha256', `svault key ${key}`, 'base64url')}`;
}
