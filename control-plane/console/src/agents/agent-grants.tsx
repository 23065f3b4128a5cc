import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { grantsQuery } from '../api/queries.ts';
import { PageLinks } from '../parts/list.tsx';
import { Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { Failure } from '../parts/failure.tsx';

const route = getRouteApi('/agents/$id');

/** What an agent has grants for, a page at a time. */
export function AgentGrants({ id, name }: { readonly id: string; readonly name: string }) {
  const { grants: cursor } = route.useSearch();
  const { data, error, refetch } = useQuery(grantsQuery(id, cursor));
  return (
    <Section id="grants" title="Grants">
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
      <PageLinks name="grants" cursorName="grants" next={data?.nextCursor} />
    </Section>
  );
}

/** A name as a shell takes it for one word, whatever is in it. */
const shellWord = (text: string): string =>
  /^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
