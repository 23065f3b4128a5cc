import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { grantsQuery } from '../api/queries.ts';
import { PageLinks } from '../parts/page-links.tsx';
import { Time } from '../parts/time.tsx';
import { Failure } from '../shell/failure.tsx';

const route = getRouteApi('/agents/$id');

/** What an agent has grants for, a page at a time. */
export function AgentGrants({ id, name }: { readonly id: string; readonly name: string }) {
  const { grants: cursor } = route.useSearch();
  const { data, error, refetch } = useQuery(grantsQuery(id, cursor));
  return (
    <section aria-labelledby="grants" className="card">
      <h2 id="grants">Grants</h2>
      {error && <Failure error={error} reset={() => void refetch()} />}
      {data?.items.length === 0 && (
        <p className="mt-2 text-dim">
          No grant yet. To give it one: <code>svault grant {shellWord(name)} SERVICE</code>
        </p>
      )}
      <ul className="mt-2 divide-y divide-line">
        {data?.items.map(({ id: grantId, serviceName, status, grantExpiresAt }) => (
          <li key={grantId} className="flex flex-wrap justify-between gap-x-4 py-1.5">
            <code>{serviceName}</code>
            <span className={status === 'active' ? 'text-dim' : 'text-warn'}>
              {grantExpiresAt === null ? (
                'Until revoked'
              ) : (
                <>
                  {status === 'active' ? 'Expires' : 'Expired'} <Time at={grantExpiresAt} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      <PageLinks
        name="Pages of grants"
        first={
          cursor !== undefined && (
            <Link to="/agents/$id" params={{ id }}>
              First page
            </Link>
          )
        }
        next={
          data?.nextCursor && (
            <Link to="/agents/$id" params={{ id }} search={{ grants: data.nextCursor }}>
              Next page
            </Link>
          )
        }
      />
    </section>
  );
}

/** A name as a shell takes it for one word, whatever is in it. */
const shellWord = (text: string): string =>
  /^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
