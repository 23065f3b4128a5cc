import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { Failure } from '../parts/failure.tsx';
import { Screen, Section } from '../parts/screen.tsx';

const route = getRouteApi('/limits');

/** Windows are a minute and more: so old a count says enough. */
const FRESH_MS = 10_000;

const limitsQuery = (caller: { readonly callerId?: string }) =>
  queryOptions({
    queryKey: ['limits', caller],
    queryFn: ({ signal }) => answerOf(api.GET('/api/limits', { signal, params: { query: caller } })),
    refetchInterval: FRESH_MS,
  });

const lockoutsQuery = queryOptions({
  queryKey: ['lockouts'],
  queryFn: ({ signal }) => answerOf(api.GET('/api/limits/lockouts', { signal })),
  refetchInterval: FRESH_MS,
});

const NAMES: Readonly<Record<string, string>> = {
  user_aggregate: 'All agents and proxies together',
  account_export: 'Account exports',
  setup_step: 'Marks of set-up steps',
  agent_credentials: 'Requests for credentials',
  agent_no_grant: 'Requests without a grant',
  mcp_handshake: 'MCP handshakes',
  credential_history: 'Reads of a credential’s history',
  key_reveal: 'Reveals of the key',
  proxy_mcp: 'Requests of the proxy',
  max_agents: 'Agents',
  max_tokens: 'Credentials',
  max_grants: 'Grants',
  max_folders: 'Folders',
  max_policies: 'Policies',
  max_proxies: 'Proxies, revoked ones too',
  max_members: 'People',
  max_admin_keys: 'Admin keys',
  max_providers: 'Providers',
};

/** Who is locked out, and how much of each limit is used. */
export function Limits() {
  const search = route.useSearch();
  const { callerId } = search;
  const { data, error, refetch } = useQuery(limitsQuery(search));
  return (
    <Screen title="Limits">
      <div className="mt-4 grid gap-4">
        <Lockouts />
        {!data && error && <Failure error={error} reset={() => void refetch()} />}
        {data && (
          <>
            <Section
              id="counters"
              title={callerId === undefined ? 'Requests' : 'Requests of the account and of one caller'}
              actions={callerId !== undefined && <Link to="/limits">The account alone</Link>}
            >
              {callerId !== undefined && (
                <p className="mt-1 text-dim">
                  Caller <code>{callerId}</code>
                </p>
              )}
              <Usages usages={data.counters} />
            </Section>
            <Section id="quotas" title="Quotas">
              <Usages usages={data.quotas} />
            </Section>
          </>
        )}
      </div>
    </Screen>
  );
}

function Lockouts() {
  const { data, error, refetch } = useQuery(lockoutsQuery);
  return (
    <Section id="lockouts" title="Locked out now">
      {!data && error && <Failure error={error} reset={() => void refetch()} />}
      {data?.items.length === 0 && (
        <p className="mt-1 text-dim">
          Nobody. An agent or a proxy that exceeds its limit is locked out, for twice as long with each
          strike.
        </p>
      )}
      <ul className="mt-2 divide-y divide-line">
        {data?.items.map(({ callerId, name, strikes, retryAfter }) => (
          <li key={callerId} className="flex flex-wrap justify-between gap-x-4 py-1.5">
            <Link to="/limits" search={{ callerId }} className="wrap-anywhere">
              <bdi>{name ?? callerId}</bdi>
            </Link>
            <span>
              <span className="text-warn">for {duration(retryAfter)} more</span>
              <span className="text-dim">
                , {strikes} {strikes === 1 ? 'strike' : 'strikes'}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

type Usage = Schemas['Limits']['quotas'][number] & Partial<Schemas['Limits']['counters'][number]>;

const format = new Intl.NumberFormat('en');

function Usages({ usages }: { readonly usages: readonly Usage[] }) {
  return (
    <ul className="mt-2 grid gap-2">
      {usages.map(({ scope, limit, used, windowSeconds, resetsInSeconds = 0 }) => (
        <li
          key={scope}
          className="grid gap-x-4 sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_22rem] sm:items-center"
        >
          <span>{NAMES[scope] ?? scope}</span>
          <Bar share={used / limit} />
          <span className={used >= limit ? 'text-warn' : 'text-dim'}>
            {format.format(used)} of {format.format(limit)}
            {windowSeconds !== undefined && ` in ${duration(windowSeconds)}`}
            {resetsInSeconds > 0 && `, resets in ${duration(resetsInSeconds)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The numbers beside it say the same. */
function Bar({ share }: { readonly share: number }) {
  return (
    <svg
      aria-hidden="true"
      viewBox="0 0 100 4"
      preserveAspectRatio="none"
      className="h-2 w-full rounded-full bg-line"
    >
      <rect
        width={Math.min(share, 1) * 100}
        height="4"
        className={share >= 1 ? 'fill-warn' : 'fill-accent'}
      />
    </svg>
  );
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** @param seconds a whole number. @returns such as `1 minute`, rounded up in its largest unit */
function duration(seconds: number): string {
  const [unit, length] = UNITS.find(([, each]) => seconds >= each) ?? ['second', 1];
  const count = Math.ceil(seconds / length);
  return `${format.format(count)} ${unit}${count === 1 ? '' : 's'}`;
}
