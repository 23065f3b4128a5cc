import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../api/client.ts';
import { Failure } from '../parts/failure.tsx';
import { Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { eventsQuery, lastUseQuery } from './queries.ts';

/** Of an event, as the console says it; others by their type. */
const EVENTS: Readonly<Partial<Record<Schemas['AuditEvent']['eventType'], string>>> = {
  AGENT_CREDENTIAL_ACCESS: 'Requested by an agent',
  PROXY_CREDENTIAL_USE: 'Used through a proxy',
  OWNER_CREDENTIAL_ACCESS: 'Read by an admin',
  GRANT_CREATED: 'Granted',
  GRANT_RENEWED: 'Grant renewed',
  GRANT_REVOKED: 'Grant revoked',
  GRANT_EXPIRED: 'Grant expired',
  TOKEN_CREATED: 'Named',
  TOKEN_UPDATED: 'Description changed',
  TOKEN_DELETED: 'Deleted',
  TOKEN_STORE_TICKET: 'Ticket to store a secret',
  TOKEN_REFRESHED: 'Refreshed',
};

const OUTCOMES = { success: '', denied: 'denied', rate_limited: 'rate limited', error: 'failed' } as const;

/** What happened with a credential, newest first, as the log of the control plane has it. */
export function CredentialEvents({ serviceName }: { readonly serviceName: string }) {
  const { data, error, refetch } = useQuery(eventsQuery(serviceName));
  return (
    <Section id="history" title="History">
      {!data && error && <Failure error={error} reset={() => void refetch()} />}
      {data?.items.length === 0 && <p className="mt-2 text-dim">Nothing in the latest events of the log.</p>}
      <ul className="mt-2 divide-y divide-line">
        {data?.items.map((event) => (
          <li key={event.id} className="flex flex-wrap justify-between gap-x-4 py-1.5">
            <span className="min-w-0 wrap-anywhere">
              {EVENTS[event.eventType] ?? <code>{event.eventType}</code>}
              {event.outcome !== 'success' && (
                <span className="text-warn">
                  , {OUTCOMES[event.outcome]} {codeOf(event)}
                </span>
              )}
              {(event.count ?? 1) > 1 && ` × ${event.count}`}
              <Who event={event} />
            </span>
            <span className="text-dim">
              <Time at={event.timestamp} />
            </span>
          </li>
        ))}
      </ul>
      <p className="mt-2 text-sm text-dim">
        The webhook keeps a log of its own. To see more: <code>svault tokens history</code>
      </p>
    </Section>
  );
}

function codeOf({ detail }: Schemas['AuditEvent']) {
  const code = detail?.['code'];
  return typeof code === 'string' ? <code>{code}</code> : null;
}

function Who({ event }: { readonly event: Schemas['AuditEvent'] }) {
  const { agentName, proxyName, adminKeyName, userEmail, agentId, proxyId } = event;
  const who = agentName ?? proxyName ?? adminKeyName ?? userEmail ?? agentId ?? proxyId;
  return who === undefined ? null : (
    <span className="text-dim">
      {' · '}
      <bdi>{who}</bdi>
    </span>
  );
}

/** When an agent or proxy was last given the credential. */
export function LastUse({ serviceName }: { readonly serviceName: string }) {
  const { data } = useQuery(lastUseQuery(serviceName));
  if (data === undefined) return <span className="text-dim">…</span>;
  const { last, isWhole } = data;
  if (last === undefined)
    return <span className="text-dim">{isWhole ? 'never' : 'not in the latest events'}</span>;
  return (
    <>
      <Time at={last.timestamp} />
      <Who event={last} />
    </>
  );
}
