import type { Secret } from '@svault/shared';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { AuditLog } from '../audit/audit-log.ts';
import type { BindingStore } from './binding-store.ts';
import { replaceSetupTokenNow } from './setup-token.ts';

/**
 * Unbinds on the webhook's machine: erases binding, keys, code and set-up token at once (PROTOCOL.md section 5.1). A
 * running serve rejects the next request already. Unless a set-up token is configured there is a new one, since the
 * first one was printed long ago.
 *
 * @returns the new set-up token, to be printed once (undefined if one is configured), and whether there was a binding
 */
export async function unsealBinding(deps: {
  readonly bindings: BindingStore;
  readonly commit: GroupCommit;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly setupToken: Secret | undefined;
}): Promise<{ readonly setupToken: string | undefined; readonly wasBound: boolean }> {
  const { bindings, commit, audit } = deps;
  return commit.run(() => {
    // Rows that something else wrote are erased too, but the log does not repeat what they say.
    const isAuthentic = bindings.isAuthentic();
    const former = isAuthentic ? bindings.binding() : undefined;
    const wasBound = former !== undefined || !isAuthentic;
    bindings.reset();
    if (wasBound) {
      const detail =
        former === undefined
          ? { changedOutside: true }
          : { serviceBaseUrl: former.serviceBaseUrl, vaultId: former.vaultId };
      audit.appendNow({ eventType: 'WEBHOOK_UNBOUND', outcome: 'success', detail });
    }
    return {
      setupToken: deps.setupToken === undefined ? replaceSetupTokenNow(bindings) : undefined,
      wasBound,
    };
  });
}
