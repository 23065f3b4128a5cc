import { useQuery } from '@tanstack/react-query';
import { meQuery, overviewQuery } from '../api/queries.ts';
import { NotLoaded } from '../parts/failure.tsx';
import { Facts, Screen, Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { BindWebhook } from './bind-webhook.tsx';
import { BoundWebhook } from './bound-webhook.tsx';
import { LogCopy } from './log-copy.tsx';
import { webhookQuery } from './queries.ts';
import { Answers, Behind } from './states.tsx';
import { VaultLock } from './vault-lock.tsx';

/** The lock of the vault, and the webhook that holds its credentials. */
export function WebhookScreen() {
  const { data: me } = useQuery(meQuery);
  return (
    <Screen title="Vault and webhook">
      <div className="mt-4 grid gap-4">
        {me && <VaultLock mayUnlock={me.role === 'admin'} />}
        {me && (me.role === 'admin' ? <WebhookOfAdmin /> : <WebhookOfMember />)}
      </div>
    </Screen>
  );
}

function WebhookOfAdmin() {
  const query = useQuery(webhookQuery);
  const { data } = query;
  if (data === undefined) return <NotLoaded query={query} className="min-h-96" />;
  if (!data.bound) return <BindWebhook />;
  return (
    <>
      <BoundWebhook webhook={data} />
      {data.log && <LogCopy log={data.log} />}
    </>
  );
}

/** What a member can read of it. */
function WebhookOfMember() {
  const query = useQuery(overviewQuery);
  const { data } = query;
  if (data === undefined) return <NotLoaded query={query} />;
  const { bound, online, lastSeenAt, logBehindSince } = data.webhook;
  return (
    <Section id="webhook" title="Webhook">
      {bound ? (
        <Facts
          facts={[
            ['State', <Answers yes={online !== false} />],
            ['Last answer', <Time at={lastSeenAt} />],
            ['Copy of the log', logBehindSince ? <Behind since={logBehindSince} /> : 'Up to date'],
          ]}
        />
      ) : (
        <p className="mt-2">No webhook is bound, so no credential can be delivered. An admin binds one.</p>
      )}
    </Section>
  );
}
