import { useQuery } from '@tanstack/react-query';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { foldersQuery } from '../api/queries.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { CheckField } from '../parts/form.tsx';

/** The folders that a credential is in, and the way to change that. */
export function CredentialFolders({ credential }: { readonly credential: Schemas['Token'] }) {
  const { serviceName, folderIds } = credential;
  const { data } = useQuery(foldersQuery);
  if (data === undefined) return <span className="text-dim">…</span>;
  const folders = data.items;
  if (folders.length === 0) return <span className="text-dim">None in this account</span>;
  const names = folders.filter(({ id }) => folderIds.includes(id)).map(({ name }) => name);
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
    <span className="flex flex-wrap items-center gap-x-3">
      {names.length === 0 ? <span className="text-dim">None</span> : <bdi>{names.join(', ')}</bdi>}
      <FormDialog trigger="Change folders" title="Folders" submit="Save" action={save}>
        <p className="text-sm text-dim">Grants that were made from a folder stay as they are.</p>
        {folders.map(({ id, name }) => (
          <CheckField key={id} name={id} label={<bdi>{name}</bdi>} defaultChecked={folderIds.includes(id)} />
        ))}
      </FormDialog>
    </span>
  );
}
