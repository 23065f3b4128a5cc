import { useQuery } from '@tanstack/react-query';
import { answerOf, api } from '../api/client.ts';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { NotLoaded } from '../parts/failure.tsx';
import { notify } from '../parts/notice.tsx';
import { Time } from '../parts/time.tsx';
import { vaultQuery } from './queries.ts';

/** The lock of the vault, and what it stops. @param props.mayUnlock an admin */
export function VaultLock({ mayUnlock }: { readonly mayUnlock: boolean }) {
  const query = useQuery(vaultQuery);
  const { data: vault } = query;
  if (vault === undefined) return <NotLoaded query={query} className="min-h-40" />;
  const { locked, lockedAt } = vault;
  return (
    <section aria-labelledby="lock" className={`card ${locked ? 'border-warn' : ''}`}>
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-3 sm:flex-nowrap">
        <div className="min-w-0">
          <h2 id="lock">Vault lock</h2>
          <p className={`text-lg font-semibold ${locked ? 'text-warn' : 'text-good'}`}>
            {locked ? 'Locked' : 'Unlocked'}
          </p>
          <p className="text-sm text-dim">
            {locked ? (
              <>
                Since <Time at={lockedAt} />
                {!mayUnlock && '. Only an admin unlocks it.'}
              </>
            ) : (
              'Agents and proxies get what their grants and policies allow. Locking stops all of them, and every change, at once.'
            )}
          </p>
        </div>
        <LockButton locked={locked} mayUnlock={mayUnlock} />
      </div>
      {locked && <WhatStops />}
    </section>
  );
}

/** Stops everything, or ends that. Anybody of the account may lock. @param props.mayUnlock an admin */
export function LockButton({ locked, mayUnlock }: { readonly locked: boolean; readonly mayUnlock: boolean }) {
  if (locked && !mayUnlock) return null;
  return locked ? (
    <ConfirmDialog
      look={{ className: 'button flex-none' }}
      trigger="Unlock the vault…"
      title="Unlock the vault?"
      submit="Unlock"
      action={() => answerOf(api.POST('/api/vault/unlock'))}
      onDone={() => notify('The vault is unlocked.')}
    >
      Agents and proxies get again what their grants and policies allow, and people can change things.
    </ConfirmDialog>
  ) : (
    <ConfirmDialog
      look={{ className: 'button button-danger flex-none' }}
      trigger="Lock the vault…"
      title="Lock the vault?"
      submit="Lock"
      action={() => answerOf(api.POST('/api/vault/lock'))}
      onDone={() => notify('The vault is locked.')}
    >
      <WhatStops />
    </ConfirmDialog>
  );
}

/** docs/security.md: what a lock does not take back. */
const WhatStops = () => (
  <>
    <ul className="mt-2 grid list-disc gap-1 pl-5">
      <li>
        <strong>Agents</strong>: each request for a credential is denied with <code>VAULT_LOCKED</code>.
      </li>
      <li>
        <strong>Proxies and MCP clients</strong>: no call is forwarded, and open streams end.
      </li>
      <li>
        <strong>People</strong>: nothing can be changed, here, by the command line or by the API. The log can
        be read. Only an admin unlocks.
      </li>
    </ul>
    <p className="mt-2 text-sm text-dim">
      It takes back no credential that an agent has already. A one-time ticket that was issued before works
      for up to 90 seconds, unless the webhook is taken offline.
    </p>
  </>
);
