import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../api/client.ts';
import { agentEventsQuery } from '../api/queries.ts';
import { Failure } from '../parts/failure.tsx';
import { Time } from '../parts/time.tsx';
import { TabHeading } from './tab-heading.tsx';

/** The newest events of an agent. */
export function AgentActivity({ agent: { id } }: { readonly agent: Schemas['Agent'] }) {
  const { data, error, refetch } = useQuery(agentEventsQuery(id));
  return (
    <>
      <TabHeading title="Activity" says="The newest events of this agent." />
      {error && <Failure error={error} reset={() => void refetch()} />}
      {data?.items.length === 0 && <p className="mt-4">No event yet.</p>}
      {data && data.items.length > 0 && (
        <ul aria-label="Events" className="card mt-4 divide-y divide-line py-0">
          {data.items.map((event) => (
            <li
              key={event.id}
              className="grid gap-x-4 py-2 sm:grid-cols-[9rem_minmax(0,1fr)_minmax(0,12rem)_7rem]"
            >
              <p className="text-dim">
                <Time at={event.timestamp} />
              </p>
              <p className="min-w-0 wrap-anywhere">
                <code>{event.eventType}</code>
              </p>
              <p className="min-w-0 wrap-anywhere">
                <bdi>{event.serviceName}</bdi>
              </p>
              <p className={event.outcome === 'success' ? 'text-good' : 'text-warn'}>{event.outcome}</p>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
