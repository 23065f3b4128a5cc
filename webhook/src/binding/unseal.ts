import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { AuditLog } from '../audit/audit-log.ts';
import type { BindingStore } from './binding-store.ts';
import { replaceSetupTokenNow } from './setup-token.ts';

export interface Unsealed {
  /** To be printed once; undefined where one is configured. */
  readonly setupToken: string | undefined;
  readonly wasBound: boolean;
}

/**
 * Unbinds on the webhook's own machine: erases binding, keys, code and set-up token at once (protocol section 5.1). A running serve
 * refuses the next request already. Unless one is configured there is a new set-up token, since the first one was
 * printed long ago.
 */
export async function unsealBinding(deps: {
  readonly store: BindingStore;
  readonly commit: GroupCommit;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly setupTokenConfigured: boolean;
}): Promise<Unsealed> {
  const { store, commit, audit, setupTokenConfigured } = deps;
  return commit.run(() => {
    // What something else wrote is erased too, but not believed.
    const isAuthentic = store.isAuthentic();
    const former = isAuthentic ? store.binding() : undefined;
    store.reset();
    if (former !== undefined || !isAuthentic) {
      const detail =
        former === undefined
          ? { changedOutside: true }
          : { serviceBaseUrl: former.serviceBaseUrl, vaultId: former.vaultId };
      audit.appendNow({ eventType: 'WEBHOOK_UNBOUND', outcome: 'success', detail });
    }
    return {
      setupToken: setupTokenConfigured ? undefined : replaceSetupTokenNow(store),
      wasBound: former !== undefined || !isAuthentic,
    };
  });
}
