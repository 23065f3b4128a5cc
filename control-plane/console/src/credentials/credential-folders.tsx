import { useQuery } from '@tanstack/react-query';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { foldersQuery } from '../api/queries.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { CheckField } from '../parts/form.tsx';

interface CredentialProps {
  readonly credential: Schemas['Token'];
}

/** The folders that a credential is in. */
export function CredentialFolders({ credential: { folderIds } }: CredentialProps) {
  const { data } = useQuery(foldersQuery);
  if (data === undefined) return <span className="text-dim">…</span>;
  const names = data.items.filter(({ id }) => folderIds.includes(id)).map(({ name }) => name);
  return names.length === 0 ? <span className="text-dim">None</span> : <bdi>{names.join(', ')}</bdi>;
}

/** Puts a credential into folders, and takes it out of others. */
export function ChangeFolders({ credential: { serviceName, folderIds } }: CredentialProps) {
  const { data } = useQuery(foldersQuery);
  if (data === undefined || data.items.length === 0) return null;
  const folders = data.items;
  const save = async (values: FormData): Promise<void> => {
    // What is in a folder is read now: the answer takes the place of the whole list.
    const { items } = await answerOf(api.GET('/api/folders', { params: { query: { limit: 100 } } }));
    for (const { id, serviceNames } of items) {
      const isIn = serviceNames.includes(serviceName);
      if (!folders.some((folder) => folder.id === id) || isIn === values.has(id)) continue;
      const others = serviceNames.filter((name) => name !== serviceName);
      const body = { serviceNames: isIn ? others : [...others, serviceName] };
      await answerOf(api.PATCH('/api/folders/{id}', { params: { path: { id } }, body }));
    }
  };
  return (
    <FormDialog trigger="Change folders" title="Folders" submit="Save" action={save}>
      <p className="text-sm text-dim">Grants that were made from a folder stay as they are.</p>
      {folders.map(({ id, name }) => (
        <CheckField key={id} name={id} label={<bdi>{name}</bdi>} defaultChecked={folderIds.includes(id)} />
      ))}
    </FormDialog>
  );
}
