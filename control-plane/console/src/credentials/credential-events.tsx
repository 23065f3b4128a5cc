import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { auditQuery } from '../activity/audit-queries.ts';
import { EVENT_COLUMNS, EVENT_GRID, EventLine } from '../events/event-line.tsx';
import { Failure } from '../parts/failure.tsx';
import { Lines } from '../parts/list.tsx';
import { Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { lastUseQuery } from './queries.ts';

const MAX_EVENTS = 20;

/** What happened with a credential, newest first, as the log of the control plane has it. */
export function CredentialEvents({ serviceName }: { readonly serviceName: string }) {
  const { data, error, refetch } = useQuery(auditQuery({ credential: serviceName }, undefined));
  return (
    <Section
      id="history"
      title="History"
      actions={
        <Link to="/activity" search={{ credential: serviceName }} className="text-sm">
          All events
        </Link>
      }
    >
      {!data && error && <Failure error={error} reset={() => void refetch()} />}
      {data && (
        <Lines
          plain
          name="Events"
          items={data.items.slice(0, MAX_EVENTS)}
          columns={EVENT_COLUMNS}
          rowClass={EVENT_GRID}
          rowKey={({ seq }) => seq}
          row={(event) => <EventLine event={event} />}
          empty={<p className="text-dim">Nothing in the latest events of the log.</p>}
        />
      )}
    </Section>
  );
}

/** When an agent or proxy was last given the credential. */
export function LastUse({ serviceName }: { readonly serviceName: string }) {
  const { data } = useQuery(lastUseQuery(serviceName));
  if (data === undefined) return <span className="text-dim">…</span>;
  const { last, isWhole } = data;
  if (last === undefined)
    return <span className="text-dim">{isWhole ? 'never' : 'not in the latest events'}</span>;
  const who = last.agentName ?? last.proxyName;
  return (
    <>
      <Time at={last.timestamp} />
      {who !== undefined && (
        <>
          {' by '}
          <bdi>{who}</bdi>
        </>
      )}
    </>
  );
}
