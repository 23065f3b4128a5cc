import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { seriesQuery } from '../api/queries.ts';
import { Failure } from '../parts/failure.tsx';
import { Section } from '../parts/screen.tsx';
import { Figure, numberText } from './figure.tsx';
import { SERIES } from './outcome-series.ts';
import { RequestsChart, Swatch } from './requests-chart.tsx';

/** Requests for credentials of the last day, by what they came to. Its room is there before its numbers are. */
export function Activity() {
  const { data, error, refetch } = useQuery(seriesQuery);
  const buckets = data?.buckets ?? [];
  return (
    <Section id="activity" title="Requests for credentials in the last 24 hours">
      {!data && error && <Failure error={error} reset={() => void refetch()} />}
      <dl className="mt-3 grid grid-cols-2 gap-4 sm:grid-cols-4">
        {SERIES.map(({ of, name, fill, outcome }) => (
          <Figure
            key={of}
            name={
              <>
                <Swatch fill={fill} />
                {name}
              </>
            }
            value={
              data ? (
                <Link
                  to="/activity"
                  search={of === 'accesses' ? { event: 'AGENT_CREDENTIAL_ACCESS', outcome } : { outcome }}
                >
                  {numberText(buckets.reduce((sum, bucket) => sum + bucket[of], 0))}
                </Link>
              ) : (
                '…'
              )
            }
          />
        ))}
      </dl>
      <RequestsChart buckets={buckets} />
      {data?.complete === false && (
        <p className="mt-2 text-sm text-dim">The newest requests are still being counted.</p>
      )}
    </Section>
  );
}
