import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { agentsQuery } from '../api/queries.ts';
import { List, ROW_LINK, SearchFilter, SelectFilter } from '../parts/list.tsx';
import { Screen } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { Status } from './status.tsx';

const route = getRouteApi('/agents');

const STATUSES = [
  ['', 'Active and suspended'],
  ['active', 'Active'],
  ['suspended', 'Suspended'],
  ['deleted', 'Deleted'],
] as const;

/** Of grants: the API counts no further. */
const MANY = 1_000;

/** Agents, a page at a time; the page and its filter are in the address. */
export function AgentList() {
  const search = route.useSearch();
  const query = useQuery(agentsQuery(search));
  return (
    <Screen
      title="Agents"
      actions={
        <>
          <SearchFilter name="name" label="Search" />
          <SelectFilter name="status" label="Status" options={STATUSES} />
          <Link to="/agents/new" className="button button-primary">
            New agent
          </Link>
        </>
      }
    >
      <List
        name="agents"
        query={query}
        columns={['Agent', 'Status', 'Grants', 'MCP', 'Key', 'Last used']}
        rowClass="gap-x-4 sm:grid-cols-[minmax(0,1fr)_6rem_4rem_3rem_9rem_8rem]"
        rowKey={({ id }) => id}
        row={({ id, name, description, status, grants, mcpEnabled, keyPrefix, lastUsedAt }) => (
          <>
            <div className="min-w-0 wrap-anywhere">
              <Link {...ROW_LINK} to="/agents/$id" params={{ id }} className="font-semibold">
                <bdi>{name}</bdi>
              </Link>
              {description !== '' && (
                <p className="line-clamp-2 text-sm text-dim">
                  <bdi>{description}</bdi>
                </p>
              )}
            </div>
            <p>
              <Status of={status} />
            </p>
            <p className="tabular-nums">
              <span className="text-dim sm:sr-only">Grants </span>
              {grants === MANY ? `${MANY}+` : grants}
            </p>
            <p>
              <span className="text-dim sm:sr-only">MCP </span>
              {mcpEnabled ? 'On' : <span className="text-dim">Off</span>}
            </p>
            <p>
              <span className="sr-only">Key </span>
              <code>{keyPrefix}</code>
            </p>
            <p>
              <span className="text-dim sm:sr-only">Last used </span>
              <Time at={lastUsedAt} />
            </p>
          </>
        )}
        empty={
          <p>
            {search.status === undefined && search.name === undefined
              ? 'No agent yet.'
              : 'No agent fits the search.'}{' '}
            To create one: <code>svault agents create --name first</code>
          </p>
        }
      />
    </Screen>
  );
}
