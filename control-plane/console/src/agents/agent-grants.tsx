import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { grantsQuery } from '../api/queries.ts';
import { ConfirmDialog, FormDialog } from '../parts/dialog.tsx';
import { List, ROW_LINK } from '../parts/list.tsx';
import { notify } from '../parts/notice.tsx';
import { shellWord } from '../parts/shell-word.ts';
import { Time } from '../parts/time.tsx';
import { ExpiryField, GrantFields, createGrant, grantedText, termsIn } from './grant-form.tsx';
import { TabHeading } from './tab-heading.tsx';

const route = getRouteApi('/agents/$id');

/** What an agent has grants for, a page at a time. */
export function AgentGrants({ agent }: { readonly agent: Schemas['Agent'] }) {
  const { grants: cursor } = route.useSearch();
  const query = useQuery(grantsQuery(agent.id, cursor));
  const isDeleted = agent.status === 'deleted';
  return (
    <>
      <TabHeading
        title="Grants"
        says="Each lets the agent have one credential. A policy or a locked vault can still deny a request."
        actions={
          !isDeleted && (
            <>
              <Link to="/reach" search={{ agent: agent.id }} className="button">
                See its reach
              </Link>
              <FormDialog
                primary
                trigger="Grant access"
                title="Grant access"
                submit="Grant"
                action={(values) => createGrant(agent.id, values)}
                onDone={(granted) => notify(grantedText(granted))}
              >
                <GrantFields />
              </FormDialog>
            </>
          )
        }
      />
      <List
        name="grants"
        cursorName="grants"
        query={query}
        columns={['Credential', 'Access', '']}
        rowClass="items-center gap-x-4 gap-y-1 sm:grid-cols-[minmax(0,1fr)_12rem_11rem]"
        rowKey={({ id }) => id}
        row={(grant) => <Row agent={agent} grant={grant} />}
        empty={
          <p>
            No grant yet.{' '}
            {!isDeleted && (
              <>
                To give it one: <code>svault grant {shellWord(agent.name)} SERVICE</code>
              </>
            )}
          </p>
        }
      />
    </>
  );
}

function Row({ agent, grant }: { readonly agent: Schemas['Agent']; readonly grant: Schemas['Grant'] }) {
  const { serviceName, status, grantExpiresAt, refreshPolicy } = grant;
  const path = { id: agent.id, serviceName };
  return (
    <>
      <p className="min-w-0 wrap-anywhere">
        <Link {...ROW_LINK} to="/credentials/$serviceName" params={{ serviceName }} className="font-medium">
          <bdi>{serviceName}</bdi>
        </Link>
      </p>
      <p className={status === 'active' ? '' : 'text-warn'}>
        {grantExpiresAt === null ? (
          'Until revoked'
        ) : (
          <>
            {status === 'active' ? 'Expires' : 'Expired'} <Time at={grantExpiresAt} />
          </>
        )}
        {refreshPolicy === 'auto' && <span className="block text-sm text-dim">No refresh token</span>}
      </p>
      <div className="flex gap-2 sm:justify-end">
        {agent.status !== 'deleted' && (
          <FormDialog
            trigger={
              <>
                Renew
                <span className="sr-only"> the grant for {serviceName}</span>
              </>
            }
            title={
              <>
                Renew the grant for <bdi>{serviceName}</bdi>
              </>
            }
            submit="Renew"
            action={(values) =>
              answerOf(
                api.POST('/api/agents/{id}/grants/{serviceName}/renew', {
                  params: { path },
                  body: termsIn(values),
                }),
              )
            }
            onDone={() => notify('The grant is renewed.')}
          >
            <ExpiryField />
          </FormDialog>
        )}
        <ConfirmDialog
          trigger={
            <>
              Revoke
              <span className="sr-only"> the grant for {serviceName}</span>
            </>
          }
          title={
            <>
              Revoke the grant for <bdi>{serviceName}</bdi>?
            </>
          }
          submit="Revoke"
          action={() => answerOf(api.DELETE('/api/agents/{id}/grants/{serviceName}', { params: { path } }))}
          onDone={() => notify('The grant is revoked.')}
        >
          <p>
            The next request of <bdi>{agent.name}</bdi> for <bdi>{serviceName}</bdi> is denied with{' '}
            <code>NO_GRANT</code>. Other agents keep their access.
          </p>
          <p className="mt-2 text-dim">
            What it has fetched already stays valid: to end that too, replace the credential at its provider.
          </p>
        </ConfirmDialog>
      </div>
    </>
  );
}
