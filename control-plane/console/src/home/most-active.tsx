import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { activeAgentsQuery } from '../api/queries.ts';
import { Failure } from '../parts/failure.tsx';
import { Section } from '../parts/screen.tsx';
import { numberText } from './figure.tsx';
import { SERIES, totalOf } from './outcome-series.ts';

/** The agents with the most requests of the last 24 hours, each with how many of these were not granted. */
export function MostActive() {
  const { data, error, refetch } = useQuery(activeAgentsQuery);
  return (
    <Section id="most-active" title="Most active agents">
      {error && <Failure error={error} reset={() => void refetch()} />}
      <ul className="mt-2 min-h-16 divide-y xl:min-h-64 divide-line">
        {data?.items.length === 0 && <li className="text-dim">No agent has asked for a credential.</li>}
        {data?.items.map((agent) => (
          <li key={agent.agentId} className="flex flex-wrap justify-between gap-x-4 py-1.5">
            <Link to="/activity" search={{ agent: agent.agentId }} className="min-w-0 wrap-anywhere">
              <bdi>{agent.name ?? agent.agentId}</bdi>
            </Link>
            <span className="ml-auto tabular-nums">
              {SERIES.filter(({ of }) => of !== 'accesses' && agent[of] > 0).map(({ of, name, outcome }) => (
                <Link
                  key={of}
                  to="/activity"
                  search={{ agent: agent.agentId, outcome }}
                  className="mr-2 text-sm text-warn"
                >
                  {numberText(agent[of])} {name.toLowerCase()}
                </Link>
              ))}
              {numberText(totalOf(agent))}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
