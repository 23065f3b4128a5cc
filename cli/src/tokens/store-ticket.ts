import { apiClient } from '../api/api-client.ts';
import type { Run } from '../invocation.ts';
import { printOne, type Shape } from '../output/print.ts';
import { type StoreAddress, storeAddressSchema, storeDestination } from '../webhook-direct/store-secret.ts';
import { versionToReplace } from './if-version.ts';
import { aboutToken } from './about-token.ts';
import { serviceNameFrom, tokenPath } from './service-name.ts';

/** `tokens store-ticket SERVICE` */
export const run: Run<[string], { readonly ifVersion?: string }> = async (
  invocation,
  [service],
  { ifVersion },
) => {
  const name = serviceNameFrom(service);
  const body = versionToReplace(ifVersion);
  const client = await apiClient(invocation);
  const path = `${tokenPath(name)}/store-ticket`;
  const address = await aboutToken(name, () =>
    client.change({ method: 'POST', path, body, schema: storeAddressSchema }),
  );
  // Whoever reads it sends a secret there.
  await storeDestination(invocation, client.login, address);
  printOne(invocation, address, ADDRESS);
};

const ADDRESS: Shape<StoreAddress> = {
  columns: [
    { title: 'address', of: ({ url }) => url },
    { title: 'ticket', of: ({ ticket }) => ticket },
    { title: 'expires', of: ({ expiresAt }, { time }) => time(expiresAt) },
  ],
  name: ({ ticket }) => ticket,
};
