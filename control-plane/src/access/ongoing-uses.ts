import { type ProxyAccessStore, type ProxySubject, mayAct, webhookOf } from './subject.ts';
import { type Denial, type ProxyUse, plainDenial } from './decision.ts';

/** A use whose answer has not ended yet. */
export interface OngoingUse {
  /** Aborted once what the use rests on was taken away. */
  readonly withdrawn: AbortSignal;
  /** Why it was; undefined before that. */
  denial(): Denial | undefined;
  end(): void;
}

/**
 * Ends uses that began before a key was revoked, an agent suspended, a vault locked or its webhook unbound: a stream of
 * events would go on for hours.
 */
export interface OngoingUses {
  /** @param keyHash of the key that the request showed */
  begin(keyHash: string, use: ProxyUse): OngoingUse;
  /** Looks at what every use of this process rests on, with one read for each key, and ends those that may not go on. */
  endWithdrawn(): Promise<void>;
}

interface Entry {
  readonly use: ProxyUse;
  readonly ending: AbortController;
  denial: Denial | undefined;
}

export function createOngoingUses({ store }: { readonly store: ProxyAccessStore }): OngoingUses {
  const entries = new Map<string, Set<Entry>>();

  return {
    begin: (keyHash, use) => {
      const entry: Entry = { use, ending: new AbortController(), denial: undefined };
      const ofKey = entries.get(keyHash) ?? new Set();
      entries.set(keyHash, ofKey.add(entry));
      return {
        withdrawn: entry.ending.signal,
        denial: () => entry.denial,
        end: () => {
          ofKey.delete(entry);
          if (ofKey.size === 0 && entries.get(keyHash) === ofKey) entries.delete(keyHash);
        },
      };
    },
    endWithdrawn: async () => {
      for (const [keyHash, ofKey] of entries) {
        const subject = await store.find(keyHash);
        for (const entry of ofKey) {
          entry.denial = denialOf(subject, entry.use);
          if (entry.denial !== undefined) entry.ending.abort();
        }
      }
    },
  };
}

/** Policies are evaluated when a request comes, not while its answer goes on. */
function denialOf(subject: ProxySubject | undefined, use: ProxyUse): Denial | undefined {
  if (subject === undefined) return plainDenial('INVALID_KEY');
  if (!mayAct(subject)) return plainDenial('AGENT_INACTIVE');
  if (subject.vaultLockedAt !== null) return plainDenial('VAULT_LOCKED');
  if (use.kind === 'webhook' && webhookOf(subject)?.webhookId !== use.webhook.webhookId)
    return plainDenial('WEBHOOK_NOT_CONFIGURED');
  return undefined;
}
