import type { LiveLog } from './live-log.ts';

/** How a live list is doing: connected or not, and how many events wait while it is held still. */
export function FeedState({ log, held }: { readonly log: LiveLog; readonly held: boolean }) {
  const { status, reason, held: waiting } = log;
  return (
    <p className="flex min-h-6 flex-wrap gap-x-2 text-sm">
      <span role="status" className={status === 'disconnected' ? 'text-warn' : 'text-dim'}>
        {status === 'live' && 'Connected'}
        {status === 'connecting' && 'Connecting…'}
        {status === 'disconnected' && `Disconnected. ${reason ?? ''} Connecting again…`}
      </span>
      {held && <span className="text-dim">Held still{waiting > 0 && `, ${waiting} new`}</span>}
    </p>
  );
}
