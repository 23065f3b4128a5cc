import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { foldersQuery } from '../api/queries.ts';
import { List, ROW_LINK, SearchFilter, SelectFilter } from '../parts/list.tsx';
import { Screen } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { TYPE_NAMES } from './kinds.ts';
import { credentialsQuery } from './queries.ts';
import { CredentialState } from './state.tsx';

const route = getRouteApi('/credentials');

const TYPES = [['', 'All'], ...Object.entries(TYPE_NAMES)] as const;

/** Credentials, a page at a time; the page, the search and the filters are in the address. */
export function CredentialList() {
  const search = route.useSearch();
  const query = useQuery(credentialsQuery(search));
  const { data: folders } = useQuery(foldersQuery);
  const isFiltered = Boolean(search.name ?? search.type ?? search.folder);
  return (
    <Screen
      title="Credentials"
      actions={
        <>
          <SearchFilter name="name" label="Search" />
          <SelectFilter name="type" label="Type" options={TYPES} />
          {folders && folders.items.length > 0 && (
            <SelectFilter
              name="folder"
              label="Folder"
              options={[['', 'All'], ...folders.items.map(({ id, name }) => [id, name] as const)]}
            />
          )}
          <Link to="/add-credential" className="button button-primary">
            Add credential
          </Link>
        </>
      }
    >
      <List
        name="credentials"
        query={query}
        columns={['Credential', 'Type', 'State', 'Stored', 'Expires']}
        rowClass="gap-x-4 sm:grid-cols-[minmax(0,1fr)_8rem_10rem_8rem_8rem]"
        rowKey={({ serviceName }) => serviceName}
        row={(credential) => <Row credential={credential} />}
        empty={
          isFiltered ? (
            <p>
              No credential matches. To see all: <code>svault ls</code>
            </p>
          ) : (
            <p>
              No credential yet. <Link to="/add-credential">Add one</Link>, or: <code>svault add github</code>
            </p>
          )
        }
      />
    </Screen>
  );
}

function Row({ credential }: { readonly credential: Schemas['Token'] }) {
  const { serviceName, displayName, description, tokenType, webhook } = credential;
  return (
    <>
      <div className="min-w-0 wrap-anywhere">
        <Link {...ROW_LINK} to="/credentials/$serviceName" params={{ serviceName }} className="font-semibold">
          <bdi>{serviceName}</bdi>
        </Link>
        {displayName !== serviceName && (
          <span className="text-dim">
            {' '}
            <bdi>{displayName}</bdi>
          </span>
        )}
        {description !== '' && (
          <p className="line-clamp-2 text-sm text-dim">
            <bdi>{description}</bdi>
          </p>
        )}
        {webhook?.allowedHosts.includes('*') && (
          <p className="text-sm text-warn">Proxies may send it to any host.</p>
        )}
      </div>
      <p>{TYPE_NAMES[tokenType]}</p>
      <p>
        <CredentialState of={credential} />
        {webhook?.empty !== false && (
          <>
            {' '}
            <Link to="/credentials/$serviceName/secret" params={{ serviceName }} className="text-sm">
              Store<span className="sr-only"> the secret of {serviceName}</span>
            </Link>
          </>
        )}
      </p>
      <p className={webhook === undefined ? 'hidden sm:block' : ''}>
        <span className="text-dim sm:sr-only">Stored </span>
        {webhook === undefined ? <None /> : <Time at={webhook.updatedAt} />}
      </p>
      <p className={webhook?.expiryTime === undefined ? 'hidden sm:block' : ''}>
        <span className="text-dim sm:sr-only">Expires </span>
        {webhook?.expiryTime === undefined ? <None /> : <Time at={webhook.expiryTime} />}
      </p>
    </>
  );
}

const None = () => (
  <span aria-hidden="true" className="text-dim">
    –
  </span>
);
