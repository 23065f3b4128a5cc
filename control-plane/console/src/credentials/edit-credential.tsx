import { type Schemas, answerOf, api } from '../api/client.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { TextAreaField, TextField, textOf } from '../parts/form.tsx';
import { notify } from '../parts/notice.tsx';

/** Changes how a credential is described. */
export function EditCredential({ credential }: { readonly credential: Schemas['Token'] }) {
  const { serviceName, displayName, description, notes, tags } = credential;
  const save = (values: FormData) =>
    answerOf(
      api.PATCH('/api/tokens/{serviceName}', {
        params: { path: { serviceName } },
        body: {
          displayName: textOf(values, 'displayName').trim() || serviceName,
          description: linesOf(values, 'description'),
          notes: linesOf(values, 'notes'),
          tags: textOf(values, 'tags')
            .split(',')
            .map((tag) => tag.trim())
            .filter((tag) => tag !== ''),
        },
      }),
    );
  return (
    <FormDialog
      trigger="Edit"
      title={
        <>
          Edit <bdi>{serviceName}</bdi>
        </>
      }
      submit="Save"
      action={save}
      onDone={() => notify('The description is saved.')}
    >
      <TextField name="displayName" label="Called" defaultValue={displayName} maxLength={200} />
      <TextAreaField
        name="description"
        label="Description"
        rows={3}
        defaultValue={description}
        maxLength={1_000}
      />
      <TextAreaField name="notes" label="Notes" rows={4} defaultValue={notes} maxLength={10_000} />
      <TextField name="tags" label="Tags" defaultValue={tags.join(', ')} hint="With commas between them." />
      <p className="text-sm text-dim">
        No secrets here: the control plane keeps these. Hosts, delivery and expiry are sealed with the secret.
      </p>
    </FormDialog>
  );
}

const linesOf = (values: FormData, name: string): string => textOf(values, name).replaceAll('\r\n', '\n');
