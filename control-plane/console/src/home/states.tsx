import type { Schemas } from '../api/client.ts';
import { Time } from '../parts/time.tsx';
import { Figure } from './figure.tsx';

/** Whether credentials can be had at all: the webhook, and the lock of the vault. */
export function States({ overview: { webhook, vault } }: { readonly overview: Schemas['Overview'] }) {
  return (
    <section aria-labelledby="states" className="card">
      <h2 id="states">Webhook and vault</h2>
      <dl className="mt-3 grid gap-4 sm:grid-cols-2">
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
        <Figure
          name="Vault"
          value={
            vault.locked ? (
              <span className="text-warn">Locked</span>
            ) : (
              <span className="text-good">Unlocked</span>
            )
          }
          note={
            vault.lockedAt === null ? (
              'Credential requests are decided by grants and policies'
            ) : (
              <>
                Locked <Time at={vault.lockedAt} />: every credential request is denied
              </>
            )
          }
        />
      </dl>
    </section>
  );
}

function webhookState({ bound, online }: Schemas['Overview']['webhook']) {
  if (!bound) return <span>Not bound</span>;
  return online === false ? (
    <span className="text-warn">Does not answer</span>
  ) : (
    <span className="text-good">Answers</span>
  );
}
