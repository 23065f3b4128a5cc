import { apiClient } from '../api/api-client.ts';
import type { Invocation } from '../invocation.ts';
import { printDone } from '../output/print.ts';
import { stateOf, vaultSchema } from './vault.ts';

/** `vault lock` and `vault unlock`; what is so already stays, and is said in the same words. */
export async function setLock(invocation: Invocation, verb: 'lock' | 'unlock'): Promise<void> {
  const client = await apiClient(invocation);
  const answer = await client.change({ method: 'POST', path: `/api/vault/${verb}`, schema: vaultSchema });
  const said = answer.locked
    ? 'the vault is locked: no credential is given out and nothing can be changed, until svault vault unlock'
    : 'the vault is unlocked: agents get what they are granted';
  printDone(invocation, { said, answer, name: stateOf(answer) });
}
