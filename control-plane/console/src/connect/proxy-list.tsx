import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { agentQuery } from '../api/queries.ts';
import { List, ROW_LINK, SearchFilter } from '../parts/list.tsx';
import { Screen } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { ConnectClients } from './connect-clients.tsx';
import { KIND_NAMES, type Proxy, proxiesQuery } from './queries.ts';

const route = getRouteApi('/connect');

/** How clients are let in, and the proxies. */
export function ConnectScreen() {
  const search = route.useSearch();
  const query = useQuery(proxiesQuery(search));
  return (
    <Screen title="Connect">
      <div className="mt-4">
        <ConnectClients />
      </div>
      <section aria-labelledby="proxies" className="mt-6">
        <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-2">
          <h2 id="proxies" className="text-lg">
            Proxies
          </h2>
          <div className="flex flex-wrap items-center gap-3">
            <SearchFilter name="name" label="Search" />
            <Link to="/connect/import" className="button">
              Import mcpServers
            </Link>
            <Link to="/connect/new" className="button button-primary">
              New proxy
            </Link>
          </div>
        </div>
        <p className="mt-2 text-dim">
          A proxy stands for an MCP server or an HTTP API: each call gets the credential on the way, and no
          program has it.
        </p>
        <List
          name="proxies"
          query={query}
          columns={['Proxy', 'Credential', 'Status', 'Last used']}
          rowClass="gap-x-4 sm:grid-cols-[minmax(0,1fr)_minmax(0,12rem)_6rem_8rem]"
          rowKey={({ id }) => id}
          row={(proxy) => <Line proxy={proxy} />}
          empty={
            <p>
              {search.name === undefined ? 'No proxy yet.' : 'No proxy has such a name.'} To create one:{' '}
              <code>svault proxies create --name NAME --upstream-url URL --service SERVICE</code>
            </p>
          }
        />
      </section>
    </Screen>
  );
}

function Line({ proxy }: { readonly proxy: Proxy }) {
  const { id, name, kind, upstreamUrl, serviceName, agentId, status, lastUsedAt } = proxy;
  return (
    <>
      <div className="min-w-0 wrap-anywhere">
        <Link {...ROW_LINK} to="/connect/$id" params={{ id }} className="font-semibold">
          <bdi>{name}</bdi>
        </Link>
        <p className="text-sm text-dim">
          {KIND_NAMES[kind]} {upstreamUrl}
        </p>
      </div>
      <p className="min-w-0 wrap-anywhere">
        {serviceName === undefined ? <SessionOf agentId={agentId} /> : <bdi>{serviceName}</bdi>}
      </p>
      <p>
        <ProxyStatus of={status} />
      </p>
      <p>
        <span className="text-dim sm:sr-only">Last used </span>
        <Time at={lastUsedAt} />
      </p>
    </>
  );
}

function SessionOf({ agentId = '' }: { readonly agentId: string | undefined }) {
  const { data } = useQuery({ ...agentQuery(agentId), enabled: agentId !== '' });
  return (
    <span className="text-dim">Session of {data === undefined ? 'an agent' : <bdi>{data.name}</bdi>}</span>
  );
}

/** The status of a proxy, in words. */
export const ProxyStatus = ({ of }: { readonly of: Proxy['status'] }) =>
  of === 'active' ? <span className="text-good">Active</span> : <span className="text-warn">Revoked</span>;
