import { queryOptions, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { answerOf, api } from '../api/client.ts';
import { OneTimeValue } from '../parts/copy.tsx';
import { ConfirmDialog, DialogWindow, FormDialog } from '../parts/dialog.tsx';
import { TextField, textOf } from '../parts/form.tsx';
import { List } from '../parts/list.tsx';
import { Named } from '../parts/named.tsx';
import { notify } from '../parts/notice.tsx';
import { Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';

const route = getRouteApi('/people');

const adminKeysQuery = (cursor: string | undefined) =>
  queryOptions({
    queryKey: ['admin-keys', cursor],
    queryFn: ({ signal }) =>
      answerOf(
        api.GET('/api/admin-keys', { signal, params: { query: cursor === undefined ? {} : { cursor } } }),
      ),
  });

/** Keys by which programs make management requests. */
export function AdminKeys() {
  const query = useQuery(adminKeysQuery(route.useSearch().keys));
  const [key, setKey] = useState<string>();
  return (
    <Section
      id="admin-keys"
      title="Admin keys"
      actions={
        <FormDialog
          trigger="New admin key"
          title="New admin key"
          submit="Create"
          action={(values) =>
            answerOf(api.POST('/api/admin-keys', { body: { name: textOf(values, 'name') } }))
          }
          onDone={(made) => setKey(made.key)}
        >
          <TextField name="name" label="Name" hint="What it is for" required maxLength={100} />
        </FormDialog>
      }
    >
      <p className="mt-1 text-dim">A program with an admin key may do all that an admin may.</p>
      <List
        name="admin keys"
        plain
        cursorName="keys"
        query={query}
        columns={['Name', 'Key', 'Created', 'Last used', '']}
        rowClass="items-center gap-x-4 gap-y-1 sm:grid-cols-[minmax(0,1fr)_9rem_8rem_8rem_6rem]"
        rowKey={({ id }) => id}
        row={({ id, name, keyPrefix, origin, createdAt, lastUsedAt }) => (
          <>
            <p className="min-w-0 wrap-anywhere">
              <bdi>{name}</bdi>
              {origin === 'settings' && <span className="text-sm text-dim"> (from the settings)</span>}
            </p>
            <p>
              <code>{keyPrefix}</code>
            </p>
            <p>
              <span className="text-dim sm:sr-only">Created </span>
              <Time at={createdAt} />
            </p>
            <p>
              <span className="text-dim sm:sr-only">Last used </span>
              <Time at={lastUsedAt} />
            </p>
            <div>
              <ConfirmDialog
                trigger={<Named what="Revoke" of={name} />}
                title={
                  <>
                    Revoke <bdi>{name}</bdi>
                  </>
                }
                submit="Revoke"
                action={() => answerOf(api.DELETE('/api/admin-keys/{id}', { params: { path: { id } } }))}
                onDone={() => notify(`The admin key ${name} is revoked.`)}
              >
                <p>Every program that uses it gets 401 from its next request on. This cannot be undone.</p>
              </ConfirmDialog>
            </div>
          </>
        )}
        empty={
          <p>
            No admin key. To make one: <code>svault admin-keys create --name ci</code>
          </p>
        }
      />
      <DialogWindow
        title="The admin key is created"
        open={key !== undefined}
        onOpenChange={() => setKey(undefined)}
      >
        {key !== undefined && <OneTimeValue what="Admin key" value={key} />}
        <button type="button" className="button mt-4" onClick={() => setKey(undefined)}>
          Close
        </button>
      </DialogWindow>
    </Section>
  );
}
