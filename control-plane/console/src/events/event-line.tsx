import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import { ROW_LINK } from '../parts/list.tsx';
import { ClockTime, zoneText } from '../parts/time.tsx';
import { type AuditEvent, outcomeOf, sentenceOf } from './event-words.ts';

/** How the parts of a line lie beside each other. */
export const EVENT_GRID = 'relative gap-x-4 sm:grid-cols-[8.5rem_minmax(0,3fr)_minmax(0,2fr)]';

/** The headings above lines. */
export const EVENT_COLUMNS = [`Time, ${zoneText()}`, 'Event', 'Outcome'] as const;

/** The link fills its line; its parts stay above that, for what they say on hover. */
const WHOLE_LINE =
  'col-span-full grid grid-cols-subgrid text-ink no-underline before:absolute before:inset-0 hover:before:bg-line/30 *:relative';

/** One event: when, who did what to what, and what it came to. The whole line leads to it. */
export const EventLine = memo(function EventLine({ event }: { readonly event: AuditEvent }) {
  const { seq, timestamp, count = 1 } = event;
  return (
    <Link {...ROW_LINK} to="/activity/$seq" params={{ seq: String(seq) }} className={WHOLE_LINE}>
      <p className="text-dim">
        <ClockTime at={timestamp} />
      </p>
      <p className="min-w-0 wrap-anywhere">
        <EventSentence event={event} />
        {count > 1 && <span className="text-dim"> {count} times</span>}
      </p>
      <Outcome event={event} />
    </Link>
  );
});

/** An event as a sentence. */
export function EventSentence({ event }: { readonly event: AuditEvent }) {
  const { kind, who, done, what, before, whom } = sentenceOf(event);
  return (
    <>
      {kind && `${kind} `}
      <Name of={who} /> {done}
      {what !== undefined && (
        <>
          {' '}
          <Name of={what} />
        </>
      )}
      {whom !== undefined && (
        <>
          {' '}
          {before} <Name of={whom} />
        </>
      )}
    </>
  );
}

const Name = ({ of }: { readonly of: string }) => <bdi className="font-semibold">{of}</bdi>;

/** What an event came to, in words. */
function Outcome({ event }: { readonly event: AuditEvent }) {
  const { text, why } = outcomeOf(event);
  return (
    <p className={`min-w-0 wrap-anywhere ${event.outcome === 'success' ? 'text-dim' : 'text-warn'}`}>
      {text}
      {why !== undefined && (
        <>
          {': '}
          <bdi>{why}</bdi>
        </>
      )}
    </p>
  );
}
