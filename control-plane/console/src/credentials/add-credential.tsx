import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { ApiFailure, Problem, type Schemas, answerOf, api } from '../api/client.ts';
import { meQuery } from '../api/queries.ts';
import { TextAreaField, TextField, textOf } from '../parts/form.tsx';
import { Screen } from '../parts/screen.tsx';
import { leaveForm } from './credential-path.ts';
import { KINDS, type Kind, kindOf } from './kinds.ts';
import { type Declared, StoreForm } from './store-form.tsx';
import { useOwnDocument } from './use-own-document.ts';
import { type SecretDestination, useWebhook } from './use-webhook.ts';

const route = getRouteApi('/add-credential');
const UP = { to: '/credentials', name: 'Credentials' } as const;

/** Adds a credential: what it is, and then the form of that kind. */
export function AddCredential() {
  const kind = kindOf(route.useSearch().kind);
  const isOwn = useOwnDocument();
  const webhook = useWebhook();
  const { data: me } = useQuery(meQuery);
  if (!isOwn) return null;
  return (
    <Screen title={kind === undefined ? 'Add credential' : `Add: ${kind.name}`} up={UP}>
      {webhook === undefined || me === undefined ? (
        <p className="mt-4 text-dim">Loading…</p>
      ) : webhook === null ? (
        <p className="mt-4">
          No webhook is bound, so there is nowhere to store a secret. To bind one:{' '}
          <code>svault webhook bind</code>
        </p>
      ) : kind === undefined ? (
        <Kinds />
      ) : (
        <AddForm key={kind.id} kind={kind} webhook={webhook} isAdmin={me.role === 'admin'} />
      )}
    </Screen>
  );
}

function Kinds() {
  return (
    <ul className="mt-4 grid gap-3 sm:grid-cols-2">
      {KINDS.map(({ id, name, says }) => (
        <li key={id} className="card relative py-3 hover:border-accent">
          <Link
            to="/add-credential"
            search={{ kind: id }}
            className="font-semibold after:absolute after:inset-0"
          >
            {name}
          </Link>
          <p className="text-sm text-dim">{says}</p>
        </li>
      ))}
    </ul>
  );
}

function AddForm(props: {
  readonly kind: Kind;
  readonly webhook: SecretDestination;
  readonly isAdmin: boolean;
}) {
  const { kind, webhook, isAdmin } = props;
  /** Named at the control plane, while its secret is not stored yet. */
  const [named, setNamed] = useState<string>();
  // The same, for a second ticket of one attempt, which no render comes before.
  const current = useRef<string>(undefined);
  const ticket = async (values: FormData, declared: Declared): Promise<Schemas['StoreAddress']> => {
    const serviceName = textOf(values, 'serviceName');
    if (current.current === serviceName)
      return answerOf(
        api.POST('/api/tokens/{serviceName}/store-ticket', {
          params: { path: { serviceName } },
          body: { ifv: 0, ...declared },
        }),
      );
    const { store } = await nameIt(kind, values, declared);
    current.current = serviceName;
    setNamed(serviceName);
    return store;
  };
  return (
    <StoreForm
      {...{ kind, webhook, isAdmin, ticket }}
      submit={named === undefined ? 'Store' : 'Store its secret'}
      onStored={(warnings) => leaveForm(current.current ?? '', warnings)}
    >
      <fieldset className="card grid min-w-0 gap-4">
        <legend className="float-left font-semibold">Credential</legend>
        {named !== undefined && (
          <p className="text-sm text-warn wrap-anywhere">
            <bdi>{named}</bdi> is named, but has no secret yet. Store it below, or later from its page.
          </p>
        )}
        <TextField
          name="serviceName"
          label="Name"
          autoFocus
          readOnly={named !== undefined}
          spellCheck={false}
          hint="Agents ask for it by this name, such as github. It cannot be changed."
        />
        {named === undefined && (
          <TextAreaField name="description" label="Description" rows={2} maxLength={1_000} hint="Optional." />
        )}
      </fieldset>
    </StoreForm>
  );
}

/** @throws Problem beside the name where it is taken */
async function nameIt({ tokenType }: Kind, values: FormData, declared: Declared) {
  const serviceName = textOf(values, 'serviceName');
  const description = textOf(values, 'description').replaceAll('\r\n', '\n').trim();
  try {
    return await answerOf(
      api.POST('/api/tokens', { body: { serviceName, tokenType, description, ...declared } }),
    );
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.code !== 'CONFLICT') throw error;
    throw new Problem(error.message, [
      {
        path: 'serviceName',
        message: 'There is a credential of this name already. Choose another name, or replace its secret.',
      },
    ]);
  }
}
