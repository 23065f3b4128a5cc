import { formatRequestRule } from '@svault/shared/request-rules';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { agentSessionsQuery, meQuery, overviewQuery } from '../api/queries.ts';
import { KIND_NAMES } from '../connect/queries.ts';
import { DialogWindow } from '../parts/dialog.tsx';
import { Entries } from '../parts/entries.tsx';
import { Failure } from '../parts/failure.tsx';
import { Facts } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { RULE_NAMES } from '../policies/rule-words.ts';
import { Channels } from './channels.tsx';
import { denialsWithoutGrant } from './denials.ts';
import { ClientsLink } from './links.tsx';
import { GrantEnd } from './pairs.tsx';
import {
  type Cell,
  type Reach,
  callerQuery,
  cellOf,
  isProxyId,
  lastUseQuery,
  pairsQuery,
} from './queries.ts';

const route = getRouteApi('/reach');

/** The cell that the address names: what decides about it, and what a request would meet now. */
export function CellWindow() {
  const { cell: text } = route.useSearch();
  const navigate = route.useNavigate();
  const cell = cellOf(text);
  const close = (): void => void navigate({ search: (before) => ({ ...before, cell: undefined }) });
  return (
    <DialogWindow title={cell && <Title cell={cell} />} open={cell !== undefined} onOpenChange={close}>
      {cell && <CellFacts cell={cell} />}
      <div className="mt-4 flex flex-wrap gap-3">
        {cell && <Subjects cell={cell} />}
        <button type="button" className="button" onClick={close}>
          Close
        </button>
      </div>
    </DialogWindow>
  );
}

/** The ways to what is in the cell. */
function Subjects({ cell }: { readonly cell: Cell }) {
  const { callerId, serviceName } = cell;
  const { data } = useQuery(pairsOf(cell));
  // A grant or a proxy can wait for a credential.
  const isDescribed = data?.items[0]?.credential.described ?? true;
  return (
    <>
      {isProxyId(callerId) ? (
        <Link to="/connect/$id" params={{ id: callerId }} className="button">
          Open the proxy
        </Link>
      ) : (
        <Link to="/agents/$id" params={{ id: callerId }} className="button">
          Open the agent
        </Link>
      )}
      {isDescribed && (
        <Link to="/credentials/$serviceName" params={{ serviceName }} className="button">
          Open the credential
        </Link>
      )}
    </>
  );
}

function Title({ cell: { callerId, serviceName } }: { readonly cell: Cell }) {
  const { data } = useQuery(callerQuery(callerId));
  return (
    <>
      {isProxyId(callerId) && 'Proxy '}
      <bdi>{data?.agent?.name ?? data?.proxy?.name ?? callerId}</bdi> → <bdi>{serviceName}</bdi>
    </>
  );
}

const pairsOf = ({ callerId, serviceName }: Cell) =>
  pairsQuery({
    ...(isProxyId(callerId) ? { proxy: callerId } : { agent: callerId }),
    credential: serviceName,
  });

function CellFacts({ cell }: { readonly cell: Cell }) {
  const { callerId } = cell;
  const caller = useQuery(callerQuery(callerId));
  const pairs = useQuery(pairsOf(cell));
  const lastUse = useQuery(lastUseQuery(cell));
  const overview = useQuery(overviewQuery);
  const error = caller.error ?? pairs.error ?? lastUse.error ?? overview.error;
  if (error) return <Failure error={error} />;
  if (!caller.data || !pairs.data || !lastUse.data || !overview.data || pairs.isPlaceholderData)
    return <p className="mt-3 min-h-72 text-dim">Loading…</p>;
  const pair = pairs.data.items.find((one) => one.caller.id === callerId);
  const { agent, proxy } = caller.data;
  const { event } = lastUse.data;
  const last = [
    'Last use',
    event ? <LastUse event={event} /> : 'None in the newest part of the log',
  ] as const;
  return (
    <>
      {pair && <Channels cell={cell} pair={pair} channels={pair.channels} />}
      {!pair && agent && (
        <Channels cell={cell} channels={denialsWithoutGrant(agent, overview.data.vault.locked)} />
      )}
      {!pair && proxy && (
        <p className="mt-3">
          {proxy.status === 'revoked'
            ? 'The proxy is revoked.'
            : 'The proxy injects another credential, or none.'}
        </p>
      )}
      <Facts
        facts={[
          ...(pair ? factsOf(pair) : []),
          ...(proxy ? [[KIND_NAMES[proxy.kind], <code>{proxy.upstreamUrl}</code>] as const] : []),
          ...(agent ? [['MCP clients', <Clients agentId={agent.id} />] as const] : []),
          last,
        ]}
      />
    </>
  );
}

/** How many sessions act as the agent, and so reach what it does. */
function Clients({ agentId }: { readonly agentId: string }) {
  const { data } = useQuery(agentSessionsQuery(agentId, undefined));
  const { data: me } = useQuery(meQuery);
  if (data === undefined) return '…';
  const { items, nextCursor } = data;
  return (
    <ClientsLink agent={agentId}>
      {items.length === 0 ? 'None' : items.length}
      {nextCursor !== undefined && ' or more'}
      {me?.role === 'admin' ? '' : ' of yours'} {items.length === 1 ? 'acts' : 'act'} as it
    </ClientsLink>
  );
}

const DELIVERIES: Readonly<Record<string, string>> = {
  any: 'Fetched by agents, injected by proxies',
  'proxy-only': 'Injected by proxies, never fetched',
  sealed: 'Sealed for the keys of agents',
};

function factsOf({ credential, grant, policies }: Reach): (readonly [string, React.ReactNode])[] {
  const { stored, delivery, allowedHosts, allowedHeaders, allowedQuery, requests } = credential;
  const state = stored === null ? 'Not known now' : stored ? 'Yes' : 'No: there is nothing to deliver yet';
  return [
    ['Grant', grant === null ? 'A proxy needs none' : <GrantEnd of={grant} />],
    [
      'Policies',
      policies.length === 0 ? (
        'None'
      ) : (
        <ul>
          {policies.map(({ id, name, targetType, rules }) => (
            <li key={id}>
              <Link to="/policies/$id" params={{ id }}>
                <bdi>{name}</bdi>
              </Link>{' '}
              <span className="text-sm text-dim">
                of the {targetType === 'token' ? 'credential' : targetType}:{' '}
                {rules.map((rule) => RULE_NAMES[rule]).join(', ')}
              </span>
            </li>
          ))}
        </ul>
      ),
    ],
    ['Stored at the webhook', state],
    ...(delivery === null ? [] : [['Delivery', DELIVERIES[delivery] ?? delivery] as const]),
    ...(allowedHosts === null ? [] : [['Allowed hosts', listOf(allowedHosts)] as const]),
    ...(allowedHeaders === null ? [] : [['Allowed headers', listOf(allowedHeaders)] as const]),
    ...(allowedQuery?.length ? [['Allowed in the query', listOf(allowedQuery)] as const] : []),
    ...(requests === undefined
      ? []
      : [['Allowed requests', <Entries of={requests.map(formatRequestRule)} none="Any" />] as const]),
  ];
}

const listOf = (texts: readonly string[]): React.ReactNode =>
  texts.length === 0 ? 'None' : <code>{texts.join(', ')}</code>;

function LastUse({ event: { seq, timestamp, outcome } }: { readonly event: Schemas['AuditEvent'] }) {
  return (
    <Link to="/activity/$seq" params={{ seq: String(seq) }}>
      <Time at={timestamp} />, {outcome === 'success' ? 'allowed' : outcome}
    </Link>
  );
}
