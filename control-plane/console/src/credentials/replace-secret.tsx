import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { meQuery } from '../api/queries.ts';
import { ScreenNotLoaded } from '../parts/failure.tsx';
import { Screen } from '../parts/screen.tsx';
import { leaveForm } from './credential-path.ts';
import { KINDS, type Kind, kindOf } from './kinds.ts';
import { credentialQuery } from './queries.ts';
import { type Declared, StoreForm } from './store-form.tsx';
import { useOwnDocument } from './use-own-document.ts';
import { type SecretDestination, useWebhook } from './use-webhook.ts';

const route = getRouteApi('/credentials/$serviceName/secret');

/** Stores the secret of a credential that is named already: its first, or another in its place. */
export function ReplaceSecret() {
  const { serviceName } = route.useParams();
  const isOwn = useOwnDocument();
  const webhook = useWebhook();
  const { data: me } = useQuery(meQuery);
  const query = useQuery(credentialQuery(serviceName));
  const { data: credential } = query;
  if (!isOwn) return null;
  if (credential === undefined || webhook === undefined || me === undefined)
    return <ScreenNotLoaded query={query} />;
  const isAdmin = me.role === 'admin';
  const isFirst = credential.webhook === undefined || credential.webhook.empty;
  return (
    <Screen
      title={`${isFirst ? 'Store' : 'Replace'} the secret of ${serviceName}`}
      heading={
        <>
          {isFirst ? 'Store' : 'Replace'} the secret of <bdi>{serviceName}</bdi>
        </>
      }
      up={{ to: '/credentials', name: 'Credentials' }}
    >
      {webhook === null ? (
        <p className="mt-4">
          No webhook is bound, so there is nowhere to store a secret. To bind one:{' '}
          <code>svault webhook bind</code>
        </p>
      ) : credential.webhook !== undefined && !isAdmin ? (
        <p className="mt-4">
          A secret is stored, and only an admin may replace it. Ask one of your admins, or go back to{' '}
          <Link to="/credentials/$serviceName" params={{ serviceName }}>
            <bdi>{serviceName}</bdi>
          </Link>
          .
        </p>
      ) : (
        <OfItsType {...{ credential, webhook, isAdmin }} />
      )}
    </Screen>
  );
}

interface FormProps {
  readonly credential: Schemas['Token'];
  readonly webhook: SecretDestination;
  readonly isAdmin: boolean;
}

/** The webhook does not say which of several kinds of its type a secret is. */
function OfItsType(props: FormProps) {
  const { credential } = props;
  const { serviceName, tokenType, webhook: held } = credential;
  const kinds = KINDS.filter((kind) => kind.tokenType === tokenType);
  const usual = kinds.length === 1 ? kinds[0] : held?.provider && kindOf('oauth', tokenType);
  const kind = kindOf(route.useSearch().kind, tokenType) ?? usual;
  return (
    <>
      {kinds.length > 1 && (
        <nav aria-label="What it is" className="mt-3 flex flex-wrap gap-2">
          {kinds.map(({ id, name }) => (
            <Link
              key={id}
              to="/credentials/$serviceName/secret"
              params={{ serviceName }}
              search={{ kind: id }}
              aria-current={id === kind?.id ? 'true' : undefined}
              className="button aria-[current=true]:border-accent aria-[current=true]:font-semibold"
            >
              {name}
            </Link>
          ))}
        </nav>
      )}
      {kind === undefined ? (
        <p className="mt-4">Choose what it is.</p>
      ) : (
        <ReplaceForm key={kind.id} {...props} kind={kind} />
      )}
    </>
  );
}

function ReplaceForm(props: FormProps & { readonly kind: Kind }) {
  const { credential, webhook, isAdmin, kind } = props;
  const { serviceName, webhook: known } = credential;
  // What the person saw when the form was opened is what may be replaced.
  const [held] = useState(known);
  const version = held?.version ?? 0;
  const ticket = (_: FormData, declared: Declared) =>
    answerOf(
      api.POST('/api/tokens/{serviceName}/store-ticket', {
        params: { path: { serviceName } },
        body: { ifv: version, ...declared },
      }),
    );
  return (
    <StoreForm
      {...{ kind, webhook, isAdmin, held, ticket }}
      submit={version === 0 ? 'Store' : 'Replace'}
      onStored={(warnings) => leaveForm(serviceName, warnings)}
    >
      {held !== undefined && !held.empty && (
        <p className="wrap-anywhere">
          Replaces version {held.version}: from then on agents and proxies get the new secret. The webhook
          keeps the former one for 7 days: its command <code>restore</code> brings it back.
          {known?.version !== held.version && (
            <span className="text-warn">
              {' '}
              Version {known?.version ?? 'none'} is stored meanwhile. Reload the page to replace that.
            </span>
          )}
        </p>
      )}
    </StoreForm>
  );
}
