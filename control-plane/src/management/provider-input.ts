import { Secret } from '@svault/shared';
import { invalidArgument } from '../core/errors.ts';
import { canSignBy } from '../refresh/client-authentication.ts';
import type { AssertionAlgorithm, ClientAuthMethod, Provider } from '../core/provider.ts';
import type { TokenUrlRule } from './token-url.ts';

/** How a client authenticates, and what with; looked at and ready to be kept. */
export interface CheckedSecret extends Pick<Provider, 'algorithm' | 'authMethod' | 'keyId'> {
  readonly secret: Secret;
}

export interface CheckedProvider extends CheckedSecret, Pick<Provider, 'clientId' | 'name' | 'tokenUrl'> {}

/** As a request says it. */
export interface GivenSecret {
  readonly authMethod?: ClientAuthMethod | undefined;
  readonly clientSecret?: string | undefined;
  readonly privateKey?: string | undefined;
  readonly algorithm?: AssertionAlgorithm | undefined;
  readonly keyId?: string | undefined;
}

const DEFAULT_ALGORITHM: AssertionAlgorithm = 'RS256';

/** @throws AppError INVALID_ARGUMENT */
export function checkTokenUrl(tokenUrl: string | undefined, problemOf: TokenUrlRule): void {
  const problem = tokenUrl === undefined ? undefined : problemOf(tokenUrl);
  if (problem !== undefined) throw invalidArgument([{ path: 'tokenUrl', message: problem }]);
}

/**
 * Everything about a secret comes together: the method, and for a key its algorithm (`RS256` unless given) and id. A key is
 * tried, so that it is its owner who hears that it does not fit, and not the log in the night.
 *
 * @throws AppError INVALID_ARGUMENT
 */
export async function checkSecret(
  given: GivenSecret & { readonly authMethod: ClientAuthMethod },
): Promise<CheckedSecret> {
  const { authMethod, clientSecret, privateKey, algorithm = DEFAULT_ALGORITHM, keyId } = given;
  const byKey = authMethod === 'private_key_jwt';
  const value = byKey ? privateKey : clientSecret;
  const foreign = byKey ? OF_SECRETS : OF_KEYS;
  const issues = foreign.filter(isIn(given)).map((path) => ({ path, message: `is not for ${authMethod}` }));
  if (value === undefined)
    throw invalidArgument([
      { path: byKey ? 'privateKey' : 'clientSecret', message: `is what ${authMethod} needs` },
      ...issues,
    ]);
  if (issues.length > 0) throw invalidArgument(issues);
  const secret = new Secret(value);
  if (!byKey) return { authMethod, secret, algorithm: undefined, keyId: undefined };
  if (!(await canSignBy(algorithm, secret)))
    throw invalidArgument([
      {
        path: 'privateKey',
        message: `is no key for ${algorithm} in PEM, PKCS#8; RSA takes 2048 bits or more`,
      },
    ]);
  return { authMethod, secret, algorithm, keyId };
}

/** The same where a request may leave all of it as it is. @returns undefined where it does */
export async function checkNewSecret(given: GivenSecret): Promise<CheckedSecret | undefined> {
  const { authMethod } = given;
  if (authMethod !== undefined) return checkSecret({ ...given, authMethod });
  const issues = [...OF_SECRETS, ...OF_KEYS].filter(isIn(given)).map((path) => ({
    path,
    message: 'comes together with authMethod',
  }));
  if (issues.length > 0) throw invalidArgument(issues);
  return undefined;
}

const OF_SECRETS = ['clientSecret'] as const;
const OF_KEYS = ['privateKey', 'algorithm', 'keyId'] as const;

const isIn =
  (given: GivenSecret) =>
  (member: keyof GivenSecret): boolean =>
    given[member] !== undefined;
