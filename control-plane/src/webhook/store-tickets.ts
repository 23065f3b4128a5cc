import { type Actor, changeBy } from '../core/actor.ts';
import type { Stores } from '../core/stores.ts';
import type { StoreAddress, Tickets } from './tickets.ts';
import { boundWebhookOf } from './bound-webhook.ts';

export interface StoreTickets {
  /**
   * A ticket to store a token's secret at the webhook, with its event in the same transaction.
   *
   * @param replaces the version that may be replaced, 0 for none; undefined for any
   * @throws AppError WEBHOOK_NOT_CONFIGURED
   */
  issue(
    stores: Pick<Stores, 'audit' | 'webhookLinks'>,
    actor: Actor,
    serviceName: string,
    replaces: number | undefined,
  ): Promise<StoreAddress>;
}

export function createStoreTickets(tickets: Pick<Tickets, 'store'>): StoreTickets {
  return {
    issue: async (stores, actor, serviceName, replaces) => {
      const link = await boundWebhookOf(stores, actor.vaultId);
      const detail = replaces === undefined ? undefined : { replaces };
      await stores.audit.append(
        changeBy(actor, 'TOKEN_STORE_TICKET', { serviceName, ...(detail && { detail }) }),
      );
      return tickets.store(link, actor.userId, serviceName, replaces);
    },
  };
}
