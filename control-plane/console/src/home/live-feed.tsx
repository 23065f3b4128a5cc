import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { EVENT_GRID, EventLine } from '../events/event-line.tsx';
import { FeedState } from '../events/feed-state.tsx';
import { useHold } from '../events/use-hold.ts';
import { useLiveLog } from '../events/use-live-log.ts';
import { Section } from '../parts/screen.tsx';
import { TimesNote } from '../parts/time.tsx';

const MAX_LINES = 50;
const EVERYTHING = {};

/** What happens in the account, as it happens. Its height is fixed, so that nothing below moves. */
export function LiveFeed() {
  const [paused, setPaused] = useState(false);
  const hold = useHold();
  const held = paused || hold.held;
  const log = useLiveLog({ max: MAX_LINES, filter: EVERYTHING, enabled: true, held });
  return (
    <Section
      id="live"
      title="What happens now"
      actions={
        <>
          <button type="button" aria-pressed={paused} className="button" onClick={() => setPaused(!paused)}>
            Pause
          </button>
          <Link to="/activity" className="button">
            All activity
          </Link>
        </>
      }
    >
      <div className="flex flex-wrap justify-between gap-x-4">
        <FeedState {...{ log, held }} />
        <TimesNote />
      </div>
      <div
        {...hold.props}
        role="group"
        aria-label="The newest events"
        tabIndex={0}
        className="mt-2 h-96 overflow-y-auto border-t border-line"
      >
        {log.events.length === 0 && log.status === 'live' && <p className="py-2 text-dim">No event yet.</p>}
        <ul className="divide-y divide-line">
          {log.events.map((event) => (
            <li key={event.seq} className={`grid py-1.5 ${EVENT_GRID}`}>
              <EventLine event={event} />
            </li>
          ))}
        </ul>
      </div>
    </Section>
  );
}
