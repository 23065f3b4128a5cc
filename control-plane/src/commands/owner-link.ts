import { systemClock } from '@svault/shared';
import type { Subcommand } from '@svault/server-kit/program';
import { makeLoginLink } from '../sign-in/login-link.ts';
import { controlPlaneConfig } from '../config/config.ts';
import { withStores } from './with-stores.ts';

/** For the account of SV_BOOTSTRAP_EMAIL, or for the only one there is. */
export const ownerLink: Subcommand = {
  summary: 'print a link that signs the owner in once',
  operands: 0,
  run: async (_operands, { env, out }) => {
    const config = controlPlaneConfig(env);
    const { email } = config.bootstrap;
    const link = await withStores(config, async (stores) => {
      const owners = await stores.users.owners();
      const owner = email === undefined ? owners[0] : owners.find((candidate) => candidate.email === email);
      if (owner === undefined) throw new Error('there is no such account yet: start the service once');
      if (email === undefined && owners.length > 1)
        throw new Error('there are several accounts: set SV_BOOTSTRAP_EMAIL to choose one');
      return (await makeLoginLink(stores, owner, { baseUrl: config.baseUrl, clock: systemClock })).url;
    });
    out(`${link}\n`);
  },
};
