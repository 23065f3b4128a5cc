import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { shellWord } from '../parts/shell-word.ts';
import { List, ROW_LINK } from '../parts/list.tsx';
import { Time } from '../parts/time.tsx';
import { ClientsLink } from './links.tsx';
import { type Reach, callerQuery, cellText, pairsQuery } from './queries.ts';
import { STATE_NAMES, StateMark, stateOf } from './state-mark.tsx';

const route = getRouteApi('/reach');

/** What an agent or a proxy can reach, or who can reach a credential. */
export function Pairs() {
  const search = route.useSearch();
  const query = useQuery(pairsQuery(search));
  const { credential } = search;
  return (
    <section aria-labelledby="pairs" className="mt-5">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <h2 id="pairs" className="text-lg wrap-anywhere">
          <Question />
        </h2>
        <Link to="/reach">Everything</Link>
      </div>
      <p className="mt-1 text-sm text-dim">
        <ClientsLink agent={search.agent}>MCP clients</ClientsLink> reach what their agent reaches.
      </p>
      <List
        name="pairs"
        query={query}
        columns={[credential === undefined ? 'Credential' : 'Agent or proxy', 'Now', 'Grant', 'Policies']}
        rowClass="gap-x-4 sm:grid-cols-[minmax(0,1fr)_9rem_12rem_minmax(0,14rem)]"
        rowKey={({ caller, credential: { serviceName } }) => `${caller.id} ${serviceName}`}
        row={(pair) => <Pair pair={pair} />}
        empty={<Nothing />}
      />
    </section>
  );
}

function Question() {
  const { agent, proxy, credential } = route.useSearch();
  const id = agent ?? proxy;
  const { data } = useQuery({ ...callerQuery(id ?? ''), enabled: id !== undefined });
  const name = data?.agent?.name ?? data?.proxy?.name;
  const caller = id !== undefined && <bdi>{name ?? id}</bdi>;
  if (caller && credential !== undefined)
    return (
      <>
        How {caller} can reach <bdi>{credential}</bdi>
      </>
    );
  if (caller) return <>What {caller} can reach</>;
  return (
    <>
      Who can reach <bdi>{credential}</bdi>
    </>
  );
}

function Pair({ pair }: { readonly pair: Reach }) {
  const { caller, credential, grant, policies } = pair;
  const { agent, credential: asked } = route.useSearch();
  const state = stateOf(pair);
  const cell = cellText({ callerId: caller.id, serviceName: credential.serviceName });
  // An agent's list also has the proxies that act for it.
  const isOther = asked !== undefined || (agent !== undefined && caller.id !== agent);
  return (
    <>
      <p className="min-w-0 wrap-anywhere">
        <Link {...ROW_LINK} to="/reach" search={(before) => ({ ...before, cell })} className="font-semibold">
          <bdi>{asked === undefined ? credential.serviceName : caller.name}</bdi>
        </Link>
        {isOther && caller.type === 'proxy' && (
          <span className="text-sm text-dim">
            {' '}
            {asked === undefined ? (
              <>
                by proxy <bdi>{caller.name}</bdi>
              </>
            ) : (
              'proxy'
            )}
          </span>
        )}
      </p>
      <p className="-ml-0.5 flex items-center gap-1.5 self-start">
        <StateMark state={state} />
        {STATE_NAMES[state]}
      </p>
      <p className="text-dim">{grant === null ? 'Needs none' : <GrantEnd of={grant} />}</p>
      <p className="min-w-0 text-dim wrap-anywhere">
        {policies.length === 0 && <span className="hidden sm:inline">None</span>}
        {policies.map(({ id, name }, index) => (
          <span key={id}>
            {index > 0 && ', '}
            <bdi>{name}</bdi>
          </span>
        ))}
      </p>
    </>
  );
}

/** When a grant ends. */
export function GrantEnd({ of: { status, grantExpiresAt } }: { readonly of: NonNullable<Reach['grant']> }) {
  if (grantExpiresAt === null) return <>Until revoked</>;
  return (
    <>
      {status === 'active' ? 'Expires' : 'Expired'} <Time at={grantExpiresAt} />
    </>
  );
}

function Nothing() {
  const { agent, proxy, credential } = route.useSearch();
  const { data } = useQuery({
    ...callerQuery(agent ?? proxy ?? ''),
    enabled: (agent ?? proxy) !== undefined,
  });
  if (proxy !== undefined) return <p>The proxy is revoked, or injects no credential.</p>;
  const words = [data?.agent?.name, credential].map((name) => name && shellWord(name));
  return (
    <p>
      {agent === undefined ? 'No agent or proxy can reach it.' : 'It can reach nothing.'} To grant it:{' '}
      <code>
        svault grant {words[0] ?? 'AGENT'} {words[1] ?? 'SERVICE'}
      </code>
    </p>
  );
}
