import { useQuery } from '@tanstack/react-query';
import { meQuery } from '../api/queries.ts';
import { Channels } from '../notifications/channels.tsx';
import { Failure } from '../parts/failure.tsx';
import { Facts, Screen, Section } from '../parts/screen.tsx';
import { Sessions } from './sessions.tsx';

const METHODS = {
  link: 'One-time link',
  password: 'Password',
  oidc: 'Identity provider',
  cli: 'Command line',
  oauth: 'MCP client',
} as const;

/** Who is signed in and how, the sessions, and what can be taken out. */
export function Account() {
  const { data: me, error, refetch } = useQuery(meQuery);
  return (
    <Screen title="Account">
      {!me && error && <Failure error={error} reset={() => void refetch()} />}
      {me && (
        <div className="mt-4 grid gap-4">
          <Section
            id="you"
            title="You"
            actions={
              me.method !== 'oidc' && (
                <a className="button" href="/login/password">
                  Change the password
                </a>
              )
            }
          >
            <Facts
              facts={[
                ['E-mail address', <bdi>{me.email}</bdi>],
                ['Role', me.isOwner ? 'Owner' : me.role === 'admin' ? 'Admin' : 'Member'],
                ['Signed in by', me.method === null ? 'Admin key' : METHODS[me.method]],
                ['Account', <code>{me.vaultId}</code>],
              ]}
            />
          </Section>
          <Channels ofAll={me.role === 'admin'} />
          <Sessions ofAll={me.role === 'admin'} />
          {me.role === 'admin' && (
            <Section
              id="export"
              title="Export"
              actions={
                <a className="button" href="/api/account/export" download>
                  Export the account
                </a>
              }
            >
              <p className="mt-1 text-dim">
                Everything that is kept of the account as one JSON file: people, agents, grants, policies,
                folders, proxies and names of credentials. No key, no secret and no event is in it. The export
                is recorded in the log.
              </p>
            </Section>
          )}
        </div>
      )}
    </Screen>
  );
}
