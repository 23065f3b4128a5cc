import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { meQuery } from '../api/queries.ts';
import { Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { LockButton } from '../webhook/vault-lock.tsx';
import { Figure } from './figure.tsx';

/** Whether credentials can be had at all: the webhook, and the lock of the vault, which stops everything. */
export function States({ overview: { webhook, vault } }: { readonly overview: Schemas['Overview'] }) {
  const { data: me } = useQuery(meQuery);
  return (
    <Section
      id="states"
      title="Vault and webhook"
      actions={me && <LockButton locked={vault.locked} mayUnlock={me.role === 'admin'} />}
    >
      <dl className="mt-3 grid gap-4 sm:grid-cols-2">
        <Figure
          name="Vault"
          value={
            vault.locked ? <State tone="text-warn">Locked</State> : <State tone="text-good">Unlocked</State>
          }
          note={
            vault.lockedAt === null ? (
              'Locking it denies every request at once'
            ) : (
              <>
                Locked <Time at={vault.lockedAt} />: every credential request is denied
              </>
            )
          }
        />
        <Figure
          name="Webhook"
          value={webhookState(webhook)}
          note={
            webhook.bound && (
              <>
                Last seen <Time at={webhook.lastSeenAt} />
              </>
            )
          }
        />
      </dl>
    </Section>
  );
}

function webhookState({ bound, online }: Schemas['Overview']['webhook']) {
  if (!bound) return <State tone="">Not bound</State>;
  return online === false ? (
    <State tone="text-warn">Does not answer</State>
  ) : (
    <State tone="text-good">Answers</State>
  );
}

const State = ({ tone, children }: { readonly tone: string; readonly children: string }) => (
  <Link to="/webhook" className={tone}>
    {children}
  </Link>
);
