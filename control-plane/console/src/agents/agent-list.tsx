import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { type AgentStatus, agentsQuery } from '../api/queries.ts';
import { PageLinks } from '../parts/page-links.tsx';
import { Time } from '../parts/time.tsx';
import { Failure } from '../shell/failure.tsx';
import { SEARCH_FIELD } from '../shell/use-keyboard.ts';
import { Status } from './status.tsx';

const route = getRouteApi('/agents');

/** Agents, a page at a time; the page and its filter are in the address. */
export function AgentList() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, refetch, isPlaceholderData } = useQuery(agentsQuery(search));
  const filter = (status: string): void =>
    void navigate({ search: { status: status === '' ? undefined : (status as AgentStatus) } });
  return (
    <>
      <title>Agents · svault</title>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h1>Agents</h1>
        <label className="flex items-center gap-2 text-sm">
          Status
          <select
            {...SEARCH_FIELD}
            value={search.status ?? ''}
            onChange={({ target }) => filter(target.value)}
            className="rounded-md border border-dim bg-paper px-2 py-1.5"
          >
            <option value="">Active and suspended</option>
            <option value="active">Active</option>
            <option value="suspended">Suspended</option>
            <option value="deleted">Deleted</option>
          </select>
        </label>
      </div>
      {error && <Failure error={error} reset={() => void refetch()} />}
      {data?.items.length === 0 && (
        <p className="mt-4">
          {search.status === undefined ? 'No agent yet.' : 'No agent has this status.'} To create one:{' '}
          <code>svault agents create --name first</code>
        </p>
      )}
      {data && data.items.length > 0 && (
        <ul aria-busy={isPlaceholderData} className="card mt-4 divide-y divide-line py-0">
          {data.items.map(({ id, name, description, status, keyPrefix, lastUsedAt }) => (
            <li key={id} className="grid gap-x-4 py-2.5 sm:grid-cols-[minmax(0,1fr)_7rem_9rem_9rem]">
              <div className="min-w-0 wrap-anywhere">
                <Link to="/agents/$id" params={{ id }} className="font-semibold">
                  <bdi>{name}</bdi>
                </Link>
                {description !== '' && (
                  <p className="text-sm text-dim">
                    <bdi>{description}</bdi>
                  </p>
                )}
              </div>
              <p>
                <Status of={status} />
              </p>
              <p>
                <span className="sr-only">Key </span>
                <code>{keyPrefix}</code>
              </p>
              <p>
                <span className="text-dim sm:sr-only">Last used </span>
                <Time at={lastUsedAt} />
              </p>
            </li>
          ))}
        </ul>
      )}
      <PageLinks
        name="Pages of agents"
        first={
          search.cursor === undefined ? undefined : (
            <Link to="/agents" search={{ status: search.status }}>
              First page
            </Link>
          )
        }
        next={
          data?.nextCursor && (
            <Link to="/agents" search={{ status: search.status, cursor: data.nextCursor }}>
              Next page
            </Link>
          )
        }
      />
    </>
  );
}
