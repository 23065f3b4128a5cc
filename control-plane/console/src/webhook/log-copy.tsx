import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Facts, Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { contradictionQuery } from './queries.ts';
import { Behind } from './states.tsx';

interface Copy {
  readonly newest: number;
  readonly acknowledged: number;
  readonly behindSince: string | null;
}

const numberText = new Intl.NumberFormat('en');

/** The audit log of the control plane beside the webhook's copy of it. */
export function LogCopy({ log }: { readonly log: Copy }) {
  const { newest, acknowledged, behindSince } = log;
  const waiting = newest - acknowledged;
  return (
    <Section id="logs" title="Copy of the audit log">
      <p className="mt-1 text-sm text-dim">
        The webhook stores each event, too, where a compromised control plane cannot rewrite it.
      </p>
      <Facts
        facts={[
          ['Newest event here', numberText.format(newest)],
          ['At the webhook up to', numberText.format(acknowledged)],
          [
            'Copy',
            behindSince === null ? (
              <span className="text-good">{waiting === 0 ? 'Complete' : 'Up to date within a minute'}</span>
            ) : (
              <Behind since={behindSince} />
            ),
          ],
          ['Contradictions', <Contradiction />],
        ]}
      />
    </Section>
  );
}

function Contradiction(): ReactNode {
  const { data, error } = useQuery(contradictionQuery);
  if (error) return <span className="text-warn">Could not be read: {error.message}</span>;
  if (data === undefined) return <span className="text-dim">Loading…</span>;
  const [last] = data.items;
  if (last === undefined)
    return data.nextCursor ? 'None in the newest part of the log' : <span className="text-good">None</span>;
  return (
    <>
      <span className="text-warn">
        <Time at={last.timestamp} />,{' '}
        <Link to="/activity/$seq" params={{ seq: String(last.seq) }}>
          event {numberText.format(last.seq)}
        </Link>
      </span>
      : the webhook’s own log did not continue what was seen of it. A restore of the webhook looks the same;
      without one, its log was cut or rewritten.
    </>
  );
}
