import type { Actor } from '../core/actor.ts';
import { agentToChange } from './manage-agents.ts';
import { notFound, refusal } from '../core/errors.ts';
import { tokenOf } from './tokens.ts';
import type { Stores } from '../core/stores.ts';
import type { PolicyTarget } from '../core/policy.ts';

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
