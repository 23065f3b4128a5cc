import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { OneTimeValue } from '../parts/copy.tsx';
import { ConfirmDialog, DialogWindow, FormDialog } from '../parts/dialog.tsx';
import { ActionForm, SelectField, TextField, textOf } from '../parts/form.tsx';
import { Lines } from '../parts/list.tsx';
import { NotLoaded } from '../parts/failure.tsx';
import { Named } from '../parts/named.tsx';
import { notify } from '../parts/notice.tsx';
import { Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { problemHere, tellThisBrowser } from './this-browser.ts';

type Channel = Schemas['NotificationChannel'];

const TYPES = { webhook: 'Webhook', slack: 'Slack', email: 'E-mail', push: 'Browser' } as const;

/** More than an account has channels other than browsers. */
const MAX_SHOWN = 100;

const channelsQuery = queryOptions({
  queryKey: ['notifications'],
  queryFn: ({ signal }) =>
    answerOf(api.GET('/api/notifications', { signal, params: { query: { limit: MAX_SHOWN } } })),
});

const optionsQuery = queryOptions({
  queryKey: ['notifications', 'options'],
  queryFn: ({ signal }) => answerOf(api.GET('/api/notifications/options', { signal })),
});

/** Where people are notified of pending approvals. @param props.ofAll as admins see them */
export function Channels({ ofAll }: { readonly ofAll: boolean }) {
  const query = useQuery(channelsQuery);
  const [secret, setSecret] = useState<string>();
  const problem = problemHere();
  return (
    <Section
      id="notifications"
      title="Notifications"
      actions={
        <>
          {problem === undefined && (
            <ActionForm
              inline
              submit="Notify this browser"
              action={tellThisBrowser}
              onDone={() => notify('This browser is notified of pending approvals.')}
            />
          )}
          {ofAll && <NewChannel onMade={(made) => setSecret(made.secret)} />}
        </>
      }
    >
      <p className="mt-1 text-dim">
        A message says who asks for which credential, with the link to decide. Nothing can be decided in the
        message.
        {problem !== undefined && ` ${problem}`}
      </p>
      {query.data === undefined ? (
        <NotLoaded query={query} className="min-h-16" />
      ) : (
        <Lines
          plain
          name="channels"
          items={query.data.items}
          columns={['Channel', 'Last message', '']}
          rowClass="items-center gap-x-4 gap-y-1 sm:grid-cols-[minmax(0,1fr)_12rem_12rem]"
          rowKey={({ id }) => id}
          row={(channel) => <Row channel={channel} />}
          empty={
            <p>
              No channels.{' '}
              {ofAll && (
                <>
                  To create one: <code>svault notifications create --type webhook --name ops --url URL</code>
                </>
              )}
            </p>
          }
        />
      )}
      <DialogWindow
        title="The channel is created"
        open={secret !== undefined}
        onOpenChange={() => setSecret(undefined)}
      >
        {secret !== undefined && <OneTimeValue what="Signing key" value={secret} />}
        <button type="button" className="button mt-4" onClick={() => setSecret(undefined)}>
          Close
        </button>
      </DialogWindow>
    </Section>
  );
}

/** Whether its last message was not delivered. */
const hasFailed = ({ lastDeliveredAt = '', lastFailedAt = '' }: Channel): boolean =>
  lastFailedAt > lastDeliveredAt;

function Row({ channel }: { readonly channel: Channel }) {
  const { id, type, name, target, lastDeliveredAt, lastFailedAt, lastError } = channel;
  const path = { params: { path: { id } } };
  return (
    <>
      <div className="min-w-0 wrap-anywhere">
        <p>
          <bdi>{name}</bdi> <span className="text-sm text-dim">{TYPES[type]}</span>
        </p>
        <p className="text-sm text-dim">
          <bdi>{target}</bdi>
        </p>
      </div>
      <p className="min-w-0 wrap-anywhere">
        <span className="text-dim sm:sr-only">Last message </span>
        {hasFailed(channel) ? (
          <span className="text-warn">
            Failed <Time at={lastFailedAt} />: <bdi>{lastError}</bdi>
          </span>
        ) : (
          <Time at={lastDeliveredAt} />
        )}
      </p>
      <div className="flex flex-wrap gap-2">
        <ActionForm
          inline
          submit="Test"
          action={() => answerOf(api.POST('/api/notifications/{id}/test', path))}
          onDone={(tested) =>
            notify(
              hasFailed(tested) ? 'The test message was not delivered.' : 'The test message was delivered.',
            )
          }
        />
        <ConfirmDialog
          trigger={<Named what="Delete" of={name} />}
          title={
            <>
              Delete <bdi>{name}</bdi>
            </>
          }
          submit="Delete"
          action={() => answerOf(api.DELETE('/api/notifications/{id}', path))}
          onDone={() => notify(`The channel ${name} is deleted.`)}
        >
          <p>It gets no more messages.</p>
        </ConfirmDialog>
      </div>
    </>
  );
}

/** A channel that is no browser; what its type does not take is not in the form. */
function NewChannel({
  onMade,
}: {
  readonly onMade: (made: { readonly secret?: string | undefined }) => void;
}) {
  const { data } = useQuery(optionsQuery);
  const types = (data?.types ?? []).filter((type) => type !== 'push');
  const [type, setType] = useState<string>('webhook');
  return (
    <FormDialog
      trigger="New channel"
      title="New channel"
      submit="Create"
      action={(values) => {
        const [address, url] = [textOf(values, 'address'), textOf(values, 'url')];
        return answerOf(
          api.POST('/api/notifications', {
            body: {
              type: textOf(values, 'type') as Channel['type'],
              name: textOf(values, 'name'),
              ...(address !== '' && { address }),
              ...(url !== '' && { url }),
            },
          }),
        );
      }}
      onDone={onMade}
    >
      <SelectField
        name="type"
        label="Type"
        options={types.map((each) => [each, TYPES[each]] as const)}
        onChange={({ target }) => setType(target.value)}
      />
      <TextField name="name" label="Name" required maxLength={100} />
      {type === 'email' ? (
        <TextField name="address" label="E-mail address" type="email" required maxLength={254} />
      ) : (
        <TextField
          name="url"
          label="Address"
          type="url"
          required
          maxLength={2_000}
          autoComplete="off"
          hint={
            type === 'slack'
              ? 'Of an incoming webhook. It is a secret: only its host is shown later.'
              : 'Messages are signed (RFC 9421) with a key that is shown once.'
          }
        />
      )}
    </FormDialog>
  );
}
