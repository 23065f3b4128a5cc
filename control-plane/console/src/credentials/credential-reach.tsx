import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { Failure } from '../parts/failure.tsx';
import { Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { ClientsLink } from '../reach/links.tsx';
import { reachQuery } from './queries.ts';

/** Which agents and proxies can have a credential, or use it. */
export function CredentialReach({ serviceName }: { readonly serviceName: string }) {
  const { data, error, refetch } = useQuery(reachQuery(serviceName));
  return (
    <Section
      id="reach"
      title="Who can reach it"
      actions={
        <Link to="/reach" search={{ credential: serviceName }} className="text-sm">
          Show in Reach
        </Link>
      }
    >
      {!data && error && <Failure error={error} reset={() => void refetch()} />}
      {data?.items.length === 0 && (
        <p className="mt-2 text-dim">
          Nobody. To give it to an agent: <code>svault grant AGENT SERVICE</code>
        </p>
      )}
      <ul className="mt-2 divide-y divide-line">
        {data?.items.map((reach) => (
          <li key={reach.caller.id} className="flex flex-wrap justify-between gap-x-4 py-1.5">
            <Caller caller={reach.caller} />
            <span className="text-dim">
              <How reach={reach} />
            </span>
          </li>
        ))}
      </ul>
      {data !== undefined && data.items.length > 0 && (
        <p className="mt-2 text-sm text-dim">
          {data.nextCursor !== undefined && 'These are the first. '}
          <ClientsLink>MCP clients</ClientsLink> reach what their agent reaches.
        </p>
      )}
    </Section>
  );
}

/** An agent or a proxy by its name. */
function Caller({ caller: { type, id, name } }: { readonly caller: Schemas['Reach']['caller'] }) {
  return (
    <span className="min-w-0 wrap-anywhere">
      {type === 'agent' ? (
        <Link to="/agents/$id" params={{ id }}>
          <bdi>{name}</bdi>
        </Link>
      ) : (
        <>
          <Link to="/connect/$id" params={{ id }}>
            <bdi>{name}</bdi>
          </Link>{' '}
          <span className="text-sm text-dim">proxy</span>
        </>
      )}
    </span>
  );
}

function How({ reach: { grant, channels } }: { readonly reach: Schemas['Reach'] }) {
  const denial = channels.every((channel) => channel.denial !== null) ? channels[0]?.denial : undefined;
  if (denial) return <span className="text-warn">Denied now: {denial}</span>;
  if (grant === null) return <>Through a proxy</>;
  if (grant.grantExpiresAt === null) return <>Until revoked</>;
  return (
    <>
      Expires <Time at={grant.grantExpiresAt} />
    </>
  );
}
