import { awsScope } from '@svault/shared/schemas';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiFailure, answerOf, api } from '../api/client.ts';
import { agentQuery } from '../api/queries.ts';
import { OneTimeValue } from '../parts/copy.tsx';
import { ConfirmDialog, FormDialog } from '../parts/dialog.tsx';
import { Failure, NotFound } from '../parts/failure.tsx';
import { ActionForm } from '../parts/form.tsx';
import { notify } from '../parts/notice.tsx';
import { Facts, Screen, Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { ConnectProxy } from './connect-proxy.tsx';
import { DestinationWarning } from './destination-warning.tsx';
import { ProxyFields, placed, proxyIn } from './proxy-fields.tsx';
import { ProxyStatus } from './proxy-list.tsx';
import { KIND_NAMES, type Proxy, credentialQuery, proxyQuery } from './queries.ts';

const route = getRouteApi('/connect/$id');

/** One proxy: what it is, its key, how it is used, and how it ends. */
export function ProxyDetail() {
  const { id } = route.useParams();
  const { data: proxy, error, refetch } = useQuery(proxyQuery(id));
  if (error instanceof ApiFailure && ['NOT_FOUND', 'INVALID_ARGUMENT'].includes(error.code))
    return <NotFound />;
  if (error) return <Failure error={error} reset={() => void refetch()} />;
  if (proxy === undefined) return <p className="text-dim">Loading…</p>;
  const isActive = proxy.status === 'active';
  return (
    <Screen
      title={proxy.name}
      up={{ to: '/connect', name: 'Connect' }}
      actions={
        <>
          {isActive && <EditProxy proxy={proxy} />}
          {isActive && <RevokeProxy proxy={proxy} />}
          <DeleteProxy proxy={proxy} />
        </>
      }
    >
      <div className="mt-4 grid grid-cols-[minmax(0,1fr)] gap-4">
        <DestinationWarning proxy={proxy} />
        <ProxyFacts proxy={proxy} />
        {isActive && <Use key={proxy.id} proxy={proxy} />}
      </div>
    </Screen>
  );
}

interface OfProxy {
  readonly proxy: Proxy;
}

/** The agent that a proxy acts for, where there is one. */
const useAgentOf = ({ agentId }: Proxy) =>
  useQuery({ ...agentQuery(agentId ?? ''), enabled: agentId !== undefined }).data;

function ProxyFacts({ proxy }: OfProxy) {
  const { id, kind, address, upstreamUrl, serviceName, agentId, status, keyPrefix, webhook } = proxy;
  const { headerTemplates = {}, queryTemplates = {}, redirects } = proxy;
  const agent = useAgentOf(proxy);
  const isAsked = serviceName !== undefined;
  const { data: credential } = useQuery({ ...credentialQuery(serviceName ?? ''), enabled: isAsked });
  return (
    <section aria-label="Facts" className="card pt-2.5">
      <Facts
        facts={[
          ['Status', <ProxyStatus of={status} />],
          [KIND_NAMES[kind], <code>{upstreamUrl}</code>],
          [kind === 'http' ? 'Base URL for agents' : 'Address for agents', <code>{address}</code>],
          ...(serviceName === undefined
            ? []
            : [
                [
                  'Credential',
                  credential === null ? (
                    <bdi>{serviceName}</bdi>
                  ) : (
                    <Link to="/credentials/$serviceName" params={{ serviceName }}>
                      <bdi>{serviceName}</bdi>
                    </Link>
                  ),
                ] as const,
              ]),
          ...(agentId === undefined
            ? []
            : [
                [
                  'Agent',
                  <Link to="/agents/$id" params={{ id: agentId }}>
                    <bdi>{agent?.name ?? agentId}</bdi>
                  </Link>,
                ] as const,
              ]),
          ...(proxy.upstreamAuthType === 'aws_sigv4'
            ? [['Signed for AWS', <SignedFor proxy={proxy} />] as const]
            : []),
          ['Headers', <Templates of={headerTemplates} between=": " />],
          ...(kind === 'mcp'
            ? []
            : ([
                ['Query parameters', <Templates of={queryTemplates} between="=" />],
                [
                  'Redirects to other origins',
                  redirects === undefined ? 'Denied' : 'Followed without the credential',
                ],
              ] as const)),
          ...(webhook === undefined
            ? []
            : [['At the webhook', webhook.delivered ? 'Yes' : 'With the next call'] as const]),
          ['Key begins with', <code>{keyPrefix}</code>],
          ['Id', <code>{id}</code>],
          ['Created', <Time at={proxy.createdAt} />],
          ['Last used', <Time at={proxy.lastUsedAt} />],
        ]}
      />
      {status === 'active' && serviceName !== undefined && (
        <p className="mt-3">
          <Link to="/reach" search={{ proxy: id, cell: `${id}.${serviceName}` }}>
            What decides about its calls
          </Link>
        </p>
      )}
    </section>
  );
}

function SignedFor({ proxy }: OfProxy) {
  const { region, service } = awsScope(proxy, proxy.upstreamUrl) ?? {};
  return (
    <>
      Service <code>{service}</code> in <code>{region}</code>
    </>
  );
}

function Templates(props: { readonly of: Readonly<Record<string, string>>; readonly between: string }) {
  const templates = Object.entries(props.of);
  if (templates.length === 0) return 'None';
  return (
    <ul>
      {templates.map(([name, value]) => (
        <li key={name}>
          <code>
            {name}
            {props.between}
            {value}
          </code>
        </li>
      ))}
    </ul>
  );
}

/** The key, once it is revealed, and what clients are told. */
function Use({ proxy }: OfProxy) {
  const { id } = proxy;
  const [key, setKey] = useState<string>();
  return (
    <Section id="use" title="Use it">
      <div className="mt-2">
        {key === undefined ? (
          <ActionForm
            inline
            submit="Reveal the key"
            action={() => answerOf(api.POST('/api/proxies/{id}/reveal-key', { params: { path: { id } } }))}
            onDone={(revealed) => setKey(revealed.key)}
          >
            <p className="text-sm text-dim">The audit log records who reveals the key.</p>
          </ActionForm>
        ) : (
          <>
            <OneTimeValue what="The key" value={key} />
            <button type="button" className="button mt-3" onClick={() => setKey(undefined)}>
              Hide the key
            </button>
          </>
        )}
      </div>
      <ConnectProxy proxy={proxy} apiKey={key} />
    </Section>
  );
}

function EditProxy({ proxy }: OfProxy) {
  const agent = useAgentOf(proxy);
  const { id, name } = proxy;
  const change = async (values: FormData) => {
    const {
      serviceName,
      allowMissing,
      agentId,
      headerTemplates,
      queryTemplates,
      redirects,
      region,
      service,
      ...members
    } = await proxyIn(values);
    return answerOf(
      api.PATCH('/api/proxies/{id}', {
        params: { path: { id } },
        body: {
          ...members,
          ...(serviceName !== undefined && { serviceName }),
          ...(allowMissing && { allowMissing }),
          agentId: agentId ?? null,
          headerTemplates: headerTemplates ?? null,
          ...(proxy.kind === 'http' && {
            queryTemplates: queryTemplates ?? null,
            redirects: redirects ?? null,
          }),
          ...(proxy.upstreamAuthType === 'aws_sigv4' && { region: region ?? null, service: service ?? null }),
        },
      }),
    ).catch(placed);
  };
  return (
    <FormDialog
      trigger="Edit"
      title={
        <>
          Edit <bdi>{name}</bdi>
        </>
      }
      submit="Save"
      action={change}
      onDone={() => notify('The proxy is changed.')}
    >
      <ProxyFields proxy={proxy} agentName={agent?.name ?? proxy.agentId} />
    </FormDialog>
  );
}

function RevokeProxy({ proxy: { id, name, keyPrefix, lastUsedAt } }: OfProxy) {
  return (
    <ConfirmDialog
      trigger="Revoke"
      title={
        <>
          Revoke the key of <bdi>{name}</bdi>?
        </>
      }
      submit="Revoke"
      action={() => answerOf(api.POST('/api/proxies/{id}/revoke', { params: { path: { id } } }))}
      onDone={() => notify('The key is revoked.')}
    >
      <p>
        Each client that has the key <code>{keyPrefix}</code> is denied with <code>INVALID_KEY</code> from now
        on, for good. It was last used <Time at={lastUsedAt} />.
      </p>
      <p className="mt-2 text-dim">The credential stays. The proxy stays in the list, for the record.</p>
    </ConfirmDialog>
  );
}

function DeleteProxy({ proxy: { id, name, keyPrefix, lastUsedAt } }: OfProxy) {
  const navigate = useNavigate();
  return (
    <ConfirmDialog
      trigger="Delete"
      title={
        <>
          Delete <bdi>{name}</bdi>?
        </>
      }
      submit="Delete"
      action={() => answerOf(api.DELETE('/api/proxies/{id}', { params: { path: { id } } }))}
      onDone={() => {
        notify('The proxy is deleted.');
        return navigate({ to: '/connect' });
      }}
    >
      <p>
        Each client that has the key <code>{keyPrefix}</code> is denied with <code>INVALID_KEY</code> from now
        on, and policies that are attached to the proxy are detached. It was last used{' '}
        <Time at={lastUsedAt} />.
      </p>
      <p className="mt-2 text-dim">The credential stays, and the log still names the proxy.</p>
    </ConfirmDialog>
  );
}
