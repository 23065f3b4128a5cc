import { EVENT_NAMES, OUTCOME_NAMES } from '../events/event-words.ts';
import { SearchFilter, SelectFilter } from '../parts/list.tsx';
import { TimeFilter } from './time-filter.tsx';

const EVENTS = [['', 'All'], ...EVENT_NAMES] as const;
const OUTCOMES = [['', 'All'], ...OUTCOME_NAMES] as const;

/** What of the log is shown; all of it is in the address. @param props.agents names that the filter could mean */
export const ActivityFilters = ({ agents }: { readonly agents: readonly string[] }) => (
  <search className="mt-4 grid grid-cols-2 gap-3 sm:grid-cols-4 [&_input]:w-full [&_select]:w-full [&>label]:grid [&>label]:gap-1">
    <SearchFilter name="agent" label="Agent" options={agents} />
    <SearchFilter name="credential" label="Credential" />
    <SelectFilter name="outcome" label="Outcome" options={OUTCOMES} />
    <SelectFilter name="event" label="Event" options={EVENTS} />
    <TimeFilter name="from" label="From" />
    <TimeFilter name="to" label="To" />
    <SearchFilter name="address" label="Address" />
  </search>
);
