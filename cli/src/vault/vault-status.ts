import { apiClient } from '../api/api-client.ts';
import type { Run } from '../invocation.ts';
import { printOne } from '../output/print.ts';
import { VAULT, vaultSchema } from './vault.ts';

/** `vault status` */
export const run: Run = async (invocation) => {
  const client = await apiClient(invocation);
  printOne(invocation, await client.read('/api/vault', vaultSchema), VAULT);
};
