import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { EVENT_NAMES, OUTCOME_NAMES } from '../events/event-words.ts';
import { readFilter } from '../events/log-filter.ts';
import { SearchFilter, SelectFilter } from '../parts/list.tsx';
import { AroundFilter, TimeFilter } from './time-filter.tsx';

const route = getRouteApi('/activity');

const EVENTS = [['', 'All'], ...EVENT_NAMES] as const;
const OUTCOMES = [['', 'All'], ...OUTCOME_NAMES] as const;

/** What of the log is shown; all of it is in the address. Behind a button where it would take the room of the list. @param props.agents names that the filter could mean */
export function ActivityFilters({ agents }: { readonly agents: readonly string[] }) {
  const [open, setOpen] = useState(false);
  const set = Object.values(readFilter({ ...route.useSearch() })).filter(
    (value) => value !== undefined,
  ).length;
  return (
    <search>
      <button
        type="button"
        aria-expanded={open}
        aria-controls="filters"
        className="button mt-3 sm:hidden"
        onClick={() => setOpen(!open)}
      >
        Filters{set > 0 && `, ${set} set`} <span aria-hidden="true">{open ? '▴' : '▾'}</span>
      </button>
      <div
        id="filters"
        className={`mt-4 grid-cols-2 gap-3 sm:grid sm:grid-cols-4 [&_input]:w-full [&_select]:w-full [&>label]:grid [&>label]:gap-1 ${open ? 'grid' : 'hidden'}`}
      >
        <SearchFilter name="agent" label="Agent" options={agents} />
        <SearchFilter name="credential" label="Credential" />
        <SelectFilter name="outcome" label="Outcome" options={OUTCOMES} />
        <SelectFilter name="event" label="Event" options={EVENTS} />
        <AroundFilter />
        <SearchFilter name="address" label="Address" />
        <TimeFilter name="from" label="From" />
        <TimeFilter name="to" label="To" />
      </div>
    </search>
  );
}
