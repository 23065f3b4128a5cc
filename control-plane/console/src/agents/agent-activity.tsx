import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { agentSeriesQuery } from '../api/queries.ts';
import { auditQuery } from '../activity/audit-queries.ts';
import { EVENT_COLUMNS, EVENT_GRID, EventLine } from '../events/event-line.tsx';
import { SERIES, totalOf } from '../home/outcome-series.ts';
import { RequestsChart, Swatch } from '../home/requests-chart.tsx';
import { Failure } from '../parts/failure.tsx';
import { Lines } from '../parts/list.tsx';
import { TabHeading } from './tab-heading.tsx';

const MAX_EVENTS = 20;

/** The requests of an agent in the last day, and its newest events. */
export function AgentActivity({ agent: { id } }: { readonly agent: Schemas['Agent'] }) {
  const { data, error, refetch } = useQuery(auditQuery({ agent: id }, undefined));
  return (
    <>
      <TabHeading
        title="Activity"
        says="Its requests of the last 24 hours, and its newest events."
        actions={
          <Link to="/activity" search={{ agent: id }} className="button">
            All events
          </Link>
        }
      />
      <Requests id={id} />
      {!data && error && <Failure error={error} reset={() => void refetch()} />}
      {data && (
        <Lines
          name="Events"
          items={data.items.slice(0, MAX_EVENTS)}
          columns={EVENT_COLUMNS}
          rowClass={EVENT_GRID}
          rowKey={({ seq }) => seq}
          row={(event) => <EventLine event={event} />}
          empty={<p>No event yet.</p>}
        />
      )}
    </>
  );
}

/** The chart; nothing where there were no requests. */
function Requests({ id }: { readonly id: string }) {
  const { data } = useQuery(agentSeriesQuery(id));
  if (data === undefined || data.buckets.every((bucket) => totalOf(bucket) === 0)) return null;
  return (
    <div className="card mt-4">
      <p className="flex flex-wrap gap-x-4 text-sm">
        {SERIES.map(({ of, name, fill }) => (
          <span key={of}>
            <Swatch fill={fill} />
            {name} {data.buckets.reduce((sum, bucket) => sum + bucket[of], 0)}
          </span>
        ))}
      </p>
      <RequestsChart buckets={data.buckets} />
    </div>
  );
}
