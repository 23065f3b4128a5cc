import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { answerOf, api } from '../api/client.ts';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { List } from '../parts/list.tsx';
import { notify } from '../parts/notice.tsx';
import { Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { browserName } from './browser-name.ts';

const route = getRouteApi('/account');

const sessionsQuery = (page: { readonly cursor?: string }) =>
  queryOptions({
    queryKey: ['sessions', page],
    queryFn: ({ signal }) => answerOf(api.GET('/api/sessions', { signal, params: { query: page } })),
  });

const KINDS = { console: 'Browser', cli: 'Command line', oauth: 'MCP client' } as const;

/** Browsers, command lines and MCP clients that are signed in. @param props.ofAll of the whole account, as admins see them */
export function Sessions({ ofAll }: { readonly ofAll: boolean }) {
  const query = useQuery(sessionsQuery(route.useSearch()));
  return (
    <Section id="sessions" title={ofAll ? 'Sessions of the account' : 'Your sessions'}>
      <List
        name="sessions"
        plain
        query={query}
        columns={['Session', 'Of', 'Last used', 'Ends', '']}
        rowClass="items-center gap-x-4 gap-y-1 sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_8rem_8rem_6rem]"
        rowKey={({ id }) => id}
        row={({ id, kind, client, current, email, agentId, agentName, lastUsedAt, expiresAt }) => (
          <>
            <div className="min-w-0 wrap-anywhere">
              <p>
                {KINDS[kind]}
                {current && <span className="text-sm text-dim"> (this one)</span>}
              </p>
              <p className="text-sm text-dim" title={client}>
                <bdi>{kind === 'console' ? browserName(client) : client}</bdi>
              </p>
            </div>
            <div className="min-w-0 wrap-anywhere">
              {agentId !== undefined && (
                <p>
                  acts as{' '}
                  <Link to="/agents/$id" params={{ id: agentId }}>
                    <bdi>{agentName ?? agentId}</bdi>
                  </Link>
                </p>
              )}
              <p>
                <bdi>{email}</bdi>
              </p>
            </div>
            <p>
              <span className="text-dim sm:sr-only">Last used </span>
              <Time at={lastUsedAt} />
            </p>
            <p>
              <span className="text-dim sm:sr-only">Ends </span>
              <Time at={expiresAt} />
            </p>
            <div>
              {!current && (
                <ConfirmDialog
                  trigger={
                    <>
                      End
                      <span className="sr-only">
                        {' '}
                        the session {client} of {email}
                      </span>
                    </>
                  }
                  title="End the session"
                  submit="End it"
                  action={() => answerOf(api.DELETE('/api/sessions/{id}', { params: { path: { id } } }))}
                  onDone={() => notify('The session is ended.')}
                >
                  <p>
                    {kind === 'oauth' ? (
                      <>
                        <bdi>{client}</bdi> can no longer act as <bdi>{agentName ?? agentId}</bdi> until
                        somebody allows it again.
                      </>
                    ) : (
                      <>
                        <bdi>{email}</bdi> has to sign in again there.
                      </>
                    )}
                  </p>
                </ConfirmDialog>
              )}
            </div>
          </>
        )}
        empty={<p>Nobody is signed in.</p>}
      />
    </Section>
  );
}
