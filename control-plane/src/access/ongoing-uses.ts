import type { Ending } from '@svault/shared';
import { type ProxyAccessStore, type ProxySubject, inactivity, webhookOf } from './subject.ts';
import { type Denial, type ProxyUse, plainDenial } from './decision.ts';

/** A use whose response is still in progress. */
interface OngoingUse {
  /** Why it was withdrawn; undefined where it was not. */
  denial(): Denial | undefined;
  /** Ends the exchange where there is a denial. */
  withdraw(denial: Denial | undefined): void;
  end(): void;
}

/**
 * Ends uses that are in progress when a key is revoked, an agent suspended, a vault locked or its webhook unbound: a stream
 * of events could last for hours.
 */
export interface OngoingUses {
  /**
   * @param keyHash of the presented key
   * @param ending of the exchange, aborted when the use is no longer allowed
   */
  begin(keyHash: string, use: ProxyUse, ending: Pick<Ending, 'abort'>): OngoingUse;
  /** Checks every use of this process, with one read per key, and ends those that are no longer allowed. */
  endWithdrawn(): Promise<void>;
}

interface Entry {
  readonly use: ProxyUse;
  readonly ending: Pick<Ending, 'abort'>;
  denial: Denial | undefined;
}

export function createOngoingUses({ store }: { readonly store: ProxyAccessStore }): OngoingUses {
  const entries = new Map<string, Set<Entry>>();
  const withdraw = (entry: Entry, denial: Denial | undefined): void => {
    if (denial === undefined) return;
    entry.denial = denial;
    entry.ending.abort();
  };

  return {
    begin: (keyHash, use, ending) => {
      const entry: Entry = { use, ending, denial: undefined };
      const ofKey = entries.get(keyHash) ?? new Set();
      entries.set(keyHash, ofKey.add(entry));
      return {
        denial: () => entry.denial,
        withdraw: (denial) => withdraw(entry, denial),
        end: () => {
          ofKey.delete(entry);
          if (ofKey.size === 0 && entries.get(keyHash) === ofKey) entries.delete(keyHash);
        },
      };
    },
    endWithdrawn: async () => {
      for (const [keyHash, ofKey] of entries) {
        const subject = await store.find(keyHash);
        for (const entry of ofKey) withdraw(entry, denialOf(subject, entry.use));
      }
    },
  };
}

/** Policies are evaluated at the request, and after a wait for the webhook (`recheck`). */
function denialOf(subject: ProxySubject | undefined, use: ProxyUse): Denial | undefined {
  if (subject === undefined) return plainDenial('INVALID_KEY');
  const code = inactivity(subject);
  if (code !== undefined) return plainDenial(code);
  if (subject.vaultLockedAt !== null) return plainDenial('VAULT_LOCKED');
  if (use.kind === 'webhook' && webhookOf(subject)?.webhookId !== use.webhook.webhookId)
    return plainDenial('WEBHOOK_NOT_CONFIGURED');
  return undefined;
}
