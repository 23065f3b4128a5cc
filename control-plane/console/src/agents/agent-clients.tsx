import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { agentSessionsQuery, meQuery } from '../api/queries.ts';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { List } from '../parts/list.tsx';
import { notify } from '../parts/notice.tsx';
import { Time } from '../parts/time.tsx';
import { McpSwitch } from './mcp-switch.tsx';
import { TabHeading } from './tab-heading.tsx';

const route = getRouteApi('/agents/$id');

/** Sessions of MCP clients that act as the agent, and the switch that lets them in. */
export function AgentClients({ agent }: { readonly agent: Schemas['Agent'] }) {
  const { sessions: cursor } = route.useSearch();
  const query = useQuery(agentSessionsQuery(agent.id, cursor));
  const { data: me } = useQuery(meQuery);
  return (
    <>
      <TabHeading
        title="MCP clients"
        says={
          me?.role === 'admin'
            ? 'Sessions that people opened in a browser. Clients that have the key have none.'
            : 'Sessions that you opened in a browser; admins see those of all people.'
        }
        actions={agent.status !== 'deleted' && <McpSwitch agent={agent} />}
      />
      <List
        name="MCP clients"
        cursorName="sessions"
        query={query}
        columns={['Client', 'Allowed by', 'Last used', 'Ends', '']}
        rowClass="items-center gap-x-4 gap-y-1 sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_8rem_8rem_5rem]"
        rowKey={({ id }) => id}
        row={(session) => <Row agent={agent} session={session} />}
        empty={
          <p>
            No MCP client acts as this agent. To let one in, see{' '}
            <Link to="/agents/$id" params={{ id: agent.id }} search={{ tab: 'connect' }}>
              Connect
            </Link>
            .
          </p>
        }
      />
    </>
  );
}

function Row({ agent, session }: { readonly agent: Schemas['Agent']; readonly session: Schemas['Session'] }) {
  const { id, client, clientId, email, lastUsedAt, expiresAt } = session;
  return (
    <>
      <div className="min-w-0 wrap-anywhere">
        <p className="font-medium">
          <bdi>{client}</bdi>
        </p>
        {clientId !== undefined && (
          <p className="text-sm text-dim">
            <bdi>{clientId}</bdi>
          </p>
        )}
      </div>
      <p className="min-w-0 wrap-anywhere">
        <span className="text-dim sm:sr-only">Allowed by </span>
        <bdi>{email}</bdi>
      </p>
      <p>
        <span className="text-dim sm:sr-only">Last used </span>
        <Time at={lastUsedAt} />
      </p>
      <p>
        <span className="text-dim sm:sr-only">Ends </span>
        <Time at={expiresAt} />
      </p>
      <div className="sm:justify-self-end">
        <ConfirmDialog
          trigger={
            <>
              End
              <span className="sr-only"> the session of {client}</span>
            </>
          }
          title={
            <>
              End the session of <bdi>{client}</bdi>?
            </>
          }
          submit="End session"
          action={() => answerOf(api.DELETE('/api/sessions/{id}', { params: { path: { id } } }))}
          onDone={() => notify('The session is ended.')}
        >
          <p>
            <bdi>{client}</bdi> can no longer act as <bdi>{agent.name}</bdi>: its next call is answered 401,
            until a person lets it in again. Other clients and the key of the agent keep working.
          </p>
        </ConfirmDialog>
      </div>
    </>
  );
}
