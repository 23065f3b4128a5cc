import type { Clock } from '@svault/shared';
import { makeLoginLink } from '../../src/sign-in/login-link.ts';
import { withStores } from '../../src/commands/with-stores.ts';
import { controlPlaneConfig } from '../../src/config/config.ts';

/**
 * A fresh token that signs the owner of a place's settings in, made as the subcommand `owner-link` does.
 *
 * @param env the place's settings; they name the owner
 */
export async function ownerLinkToken(
  env: Readonly<Record<string, string>>,
  clock: Clock,
): Promise<string | null> {
  const config = controlPlaneConfig(env);
  const { url } = await withStores(config, async (stores) => {
    const owners = await stores.users.owners();
    const owner = owners.find(({ email }) => email === config.bootstrap.email);
    if (owner === undefined) throw new Error('the service was not started yet');
    return makeLoginLink(stores, owner, { baseUrl: config.baseUrl, clock });
  });
  return new URL(url).searchParams.get('token');
}
