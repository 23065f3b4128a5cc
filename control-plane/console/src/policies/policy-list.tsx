import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { List, ROW_LINK, SearchFilter } from '../parts/list.tsx';
import { Screen } from '../parts/screen.tsx';
import { policiesQuery } from './queries.ts';
import { policyWords } from './rule-words.ts';

const route = getRouteApi('/policies');

/** The number at which the API stops counting attachments. */
const COUNTED_UP_TO = 1_000;

/** Policies, a page at a time; the page and the search are in the address. */
export function PolicyList() {
  const search = route.useSearch();
  const query = useQuery(policiesQuery(search));
  return (
    <Screen
      title="Policies"
      actions={
        <>
          <SearchFilter name="name" label="Search" />
          <Link to="/policies/simulate" className="button">
            Simulate
          </Link>
          <Link to="/policies/new" className="button button-primary">
            New policy
          </Link>
        </>
      }
    >
      <List
        name="policies"
        query={query}
        columns={['Policy', 'Attached to', 'State']}
        rowClass="gap-x-4 sm:grid-cols-[minmax(0,1fr)_7rem_6rem]"
        rowKey={({ id }) => id}
        row={({ id, name, enabled, rules, attachments }) => (
          <>
            <div className="min-w-0 wrap-anywhere">
              <Link {...ROW_LINK} to="/policies/$id" params={{ id }} className="font-semibold">
                <bdi>{name}</bdi>
              </Link>
              <p className="text-sm text-dim first-letter:uppercase">{policyWords(rules)}</p>
            </div>
            <p className={attachments === 0 ? 'text-dim' : ''}>
              <span className="text-dim sm:sr-only">Attached to </span>
              {attachmentsWords(attachments)}
            </p>
            <p className={enabled ? 'text-good' : 'text-warn'}>{enabled ? 'Enabled' : 'Disabled'}</p>
          </>
        )}
        empty={
          search.name === undefined ? (
            <p>
              No policy yet. To create those of a file: <code>svault policies apply policies.yaml</code>
            </p>
          ) : (
            <p>
              No policy has this in its name. To list all of them: <code>svault policies list</code>
            </p>
          )
        }
      />
    </Screen>
  );
}

function attachmentsWords(count: number): string {
  if (count === 0) return 'nothing';
  if (count >= COUNTED_UP_TO) return `${COUNTED_UP_TO.toLocaleString('en')} or more`;
  return count === 1 ? '1 target' : `${count} targets`;
}
