import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { answerOf, api } from '../api/client.ts';
import { credentialNamesQuery, foldersQuery } from '../api/queries.ts';
import { CheckField, SelectField, TextField, textOf } from '../parts/form.tsx';
import { usePaused } from '../parts/use-paused.ts';

const EXPIRIES = [
  ['3600', '1 hour'],
  ['28800', '8 hours'],
  ['86400', '1 day'],
  ['604800', '7 days'],
  ['2592000', '30 days'],
  ['', 'Until revoked'],
] as const;

/** When a grant ends. */
export const ExpiryField = () => (
  <SelectField
    name="expiresInSeconds"
    label="Lasts"
    hint="Requests after that are denied with GRANT_EXPIRED until the grant is renewed."
    options={EXPIRIES}
    defaultValue="2592000"
  />
);

/** When a grant ends, as the API takes it. */
export function termsIn(values: FormData) {
  const seconds = textOf(values, 'expiresInSeconds');
  return seconds === '' ? { grantExpiresAt: null } : { expiresInSeconds: Number(seconds) };
}

/** What to grant: one credential, or those of a folder, where there are folders. */
export function GrantFields() {
  const [byFolder, setByFolder] = useState(false);
  const { data: folders } = useQuery(foldersQuery);
  const hasFolders = folders !== undefined && folders.items.length > 0;
  return (
    <>
      {hasFolders && (
        <SelectField
          name="what"
          label="Access to"
          options={[
            ['credential', 'One credential'],
            ['folder', 'The credentials of a folder'],
          ]}
          onChange={({ target }) => setByFolder(target.value === 'folder')}
        />
      )}
      {byFolder && hasFolders ? (
        <SelectField
          name="folderId"
          label="Folder"
          hint="A grant for each credential that is in it now."
          options={folders.items.map(({ id, name }) => [id, name] as const)}
        />
      ) : (
        <CredentialField />
      )}
      <ExpiryField />
      {!byFolder && (
        <CheckField
          name="allowMissing"
          label="Allow a name that no credential has yet"
          hint="The grant waits for the credential."
        />
      )}
      <CheckField
        name="refreshPolicy"
        label="Keep the refresh token from the agent"
        hint="For OAuth tokens: the agent gets the access token alone, and the control plane has it refreshed."
      />
    </>
  );
}

/** The name of a credential, with those of the account as suggestions. */
function CredentialField() {
  const list = useId();
  const [typed, setTyped] = useState('');
  const { data } = useQuery(credentialNamesQuery(usePaused(typed)));
  const names = data?.items.map(({ serviceName }) => serviceName) ?? [];
  return (
    <>
      <TextField
        name="serviceName"
        label="Credential"
        required
        maxLength={128}
        list={list}
        onChange={({ target }) => setTyped(target.value)}
      />
      <datalist id={list}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}

/** Grants what `GrantFields` says. @throws ApiFailure */
export function createGrant(id: string, values: FormData) {
  const folderId = textOf(values, 'folderId');
  return answerOf(
    api.POST('/api/agents/{id}/grants', {
      params: { path: { id } },
      body: {
        ...(folderId === '' ? { serviceName: textOf(values, 'serviceName') } : { folderId }),
        ...termsIn(values),
        ...(values.has('allowMissing') && { allowMissing: true }),
        ...(values.has('refreshPolicy') && { refreshPolicy: 'auto' as const }),
      },
    }),
  );
}

/** What was granted, as a sentence. */
export function grantedText(granted: Awaited<ReturnType<typeof createGrant>>): string {
  if ('serviceName' in granted) return 'The grant is made.';
  const { grants, skipped } = granted;
  const made = grants.length === 1 ? '1 grant is made.' : `${grants.length} grants are made.`;
  return skipped.length === 0 ? made : `${made} Existing grants stay: ${skipped.length}.`;
}
