import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { EVENT_COLUMNS, EVENT_GRID, EventLine } from '../events/event-line.tsx';
import type { AuditEvent } from '../events/event-words.ts';
import { FeedState } from '../events/feed-state.tsx';
import { type LogFilter, isEmpty } from '../events/log-filter.ts';
import { useHold } from '../events/use-hold.ts';
import { useLiveLog } from '../events/use-live-log.ts';
import { Lines, List, useFilter } from '../parts/list.tsx';
import { Screen } from '../parts/screen.tsx';
import { TimesNote } from '../parts/time.tsx';
import { ActivityFilters } from './activity-filters.tsx';
import { auditQuery } from './audit-queries.ts';
import { ExportLog } from './export-log.tsx';
import { useAgentOfFilter } from './use-agent-of-filter.ts';
import { VerifyLog } from './verify-log.tsx';

const route = getRouteApi('/activity');

const MAX_FOLLOWED = 100;

const LOOK = {
  name: 'events',
  columns: EVENT_COLUMNS,
  rowClass: EVENT_GRID,
  rowKey: ({ seq }: AuditEvent) => seq,
  row: (event: AuditEvent): ReactNode => <EventLine event={event} />,
} as const;

/** What happened in the account, newest first; or, followed, as it happens. */
export function ActivityList() {
  const { cursor, follow, ...typed } = route.useSearch();
  const agent = useAgentOfFilter(typed.agent);
  const filter = { ...typed, agent: agent.id };
  const isKnown = typed.agent === undefined || agent.id !== undefined;
  return (
    <Screen
      title="Activity"
      actions={
        <>
          <FollowSwitch />
          {isKnown && <ExportLog filter={filter} />}
          <a href="#verify" className="text-sm">
            Verify
          </a>
        </>
      }
    >
      <ActivityFilters agents={agent.names} />
      <div className="mt-3">
        <TimesNote />
      </div>
      {!isKnown && <UnknownAgent {...agent} name={typed.agent} />}
      {isKnown && follow === undefined && <Pages {...{ filter, cursor }} />}
      {isKnown && follow !== undefined && <Followed filter={filter} />}
      <VerifyLog />
    </Screen>
  );
}

function UnknownAgent({
  name,
  isLoading,
}: {
  readonly name: string | undefined;
  readonly isLoading: boolean;
}) {
  if (isLoading) return <p className="mt-4 text-dim">Loading…</p>;
  return (
    <p className="mt-4">
      No agent is named <bdi>{name}</bdi>. A deleted agent is found by its id (<code>agt_…</code>).
    </p>
  );
}

function Pages({ filter, cursor }: { readonly filter: LogFilter; readonly cursor: string | undefined }) {
  const query = useQuery(auditQuery(filter, cursor));
  const isCut = query.data?.nextCursor !== undefined;
  return <List {...LOOK} query={query} empty={isCut ? FURTHER_BACK : <Empty filter={filter} />} />;
}

function FollowSwitch() {
  const filter = useFilter();
  const { follow } = route.useSearch();
  return (
    <label className="flex items-center gap-2 text-sm">
      <input
        type="checkbox"
        role="switch"
        checked={follow !== undefined}
        onChange={({ target }) => filter('follow', target.checked ? 'on' : '')}
        className="size-4 accent-accent"
      />
      Follow
    </label>
  );
}

const FURTHER_BACK = <p>None of the newest events matches. The next page looks further back.</p>;

function Followed({ filter }: { readonly filter: LogFilter }) {
  const { held, props } = useHold();
  const log = useLiveLog({ max: MAX_FOLLOWED, filter, enabled: true, held });
  return (
    <div {...props}>
      <div className="mt-3">
        <FeedState log={log} held={held} />
      </div>
      {(log.status !== 'connecting' || log.events.length > 0) && (
        <Lines {...LOOK} items={log.events} empty={<Empty filter={filter} />} />
      )}
    </div>
  );
}

const Empty = ({ filter }: { readonly filter: LogFilter }) => (
  <p>
    {isEmpty(filter) ? 'No event yet.' : 'No event matches.'} On the command line: <code>svault audit</code>
  </p>
);
