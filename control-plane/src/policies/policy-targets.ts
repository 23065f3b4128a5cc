import type { Actor } from '../accounts/actor.ts';
import { agentToChange } from '../agents/manage-agents.ts';
import { notFound, refusal } from '../errors.ts';
import { tokenOf } from '../tokens/manage-tokens.ts';
import type { Stores } from '../unit-of-work.ts';
import type { PolicyTarget } from './policy.ts';

export type TargetStores = Pick<Stores, 'agents' | 'proxies' | 'tokens'>;

/** @throws AppError NOT_FOUND where the account has no such thing; CONFLICT for a deleted agent or a revoked proxy */
export async function requireTarget(
  stores: TargetStores,
  actor: Actor,
  { type, id }: PolicyTarget,
): Promise<void> {
  switch (type) {
    case 'agent':
      return void (await agentToChange(stores, actor, id));
    case 'token':
      return void (await tokenOf(stores, actor, id));
    case 'proxy': {
      const proxy = await stores.proxies.get(actor.vaultId, id);
      if (proxy === undefined) throw notFound();
      if (proxy.status !== 'active') throw refusal('CONFLICT', 'This proxy is revoked.');
    }
  }
}
