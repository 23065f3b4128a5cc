import { queryOptions, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { meQuery } from '../api/queries.ts';
import { OneTimeValue } from '../parts/copy.tsx';
import { ConfirmDialog, DialogWindow, FormDialog } from '../parts/dialog.tsx';
import { SelectField, TextField, textOf } from '../parts/form.tsx';
import { List, SearchFilter } from '../parts/list.tsx';
import { Named } from '../parts/named.tsx';
import { notify } from '../parts/notice.tsx';
import { Screen, Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { AdminKeys } from './admin-keys.tsx';

const route = getRouteApi('/people');

type Member = Schemas['Member'];
type Role = Member['role'];

const membersQuery = (page: { readonly name?: string; readonly cursor?: string }) =>
  queryOptions({
    queryKey: ['members', page],
    queryFn: ({ signal }) => answerOf(api.GET('/api/members', { signal, params: { query: page } })),
  });

const ROLES = [
  ['member', 'Member'],
  ['admin', 'Admin'],
] as const;
const ROLE_HINT =
  'A member manages agents, grants, policies and proxies, adds credentials, reads the log and locks the vault. Only an admin changes, replaces or deletes a credential, unlocks the vault, and manages the webhook, providers and people.';

/** A link that signs somebody in once, to be handed to them. */
interface Invitation {
  readonly email: string;
  readonly url: string;
  readonly expiresAt: string;
}

/** The people of the account with their roles, and the keys of programs. For admins. */
export function People() {
  const { data: me } = useQuery(meQuery);
  if (me === undefined) return null;
  if (me.role === 'admin') return <PeopleOfAdmin me={me} />;
  return (
    <Screen title="People">
      <p className="mt-4">Only admins see the people of the account and its admin keys.</p>
    </Screen>
  );
}

function PeopleOfAdmin({ me }: { readonly me: Schemas['Me'] }) {
  const { keys: _keys, ...page } = route.useSearch();
  const query = useQuery(membersQuery(page));
  const [invitation, setInvitation] = useState<Invitation>();
  const invite = (email: string, link: Schemas['SignInLink'] | undefined): void =>
    link === undefined
      ? notify(`${email} may sign in at the identity provider now.`)
      : setInvitation({ email, ...link });
  return (
    <Screen title="People">
      <div className="mt-4 grid gap-4">
        <Section
          id="members"
          title="Members"
          actions={
            <>
              <SearchFilter name="name" label="Search" />
              <AddMember onAdded={invite} />
            </>
          }
        >
          <List
            name="members"
            plain
            query={query}
            columns={['Person', 'Role', 'Since', '']}
            rowClass="items-center gap-x-4 gap-y-1 sm:grid-cols-[minmax(0,1fr)_5rem_8rem_17rem]"
            rowKey={({ id }) => id}
            row={(member) => (
              <>
                <p className="min-w-0 wrap-anywhere">
                  <bdi>{member.email}</bdi>
                  {member.id === me.id && <span className="text-sm text-dim"> (you)</span>}
                </p>
                <p>{member.isOwner ? 'Owner' : member.role === 'admin' ? 'Admin' : 'Member'}</p>
                <p>
                  <Time at={member.createdAt} />
                </p>
                {!member.isOwner && <Actions member={member} onInvited={invite} />}
              </>
            )}
            empty={
              <p>
                Nobody has such an address. To add a person: <code>svault members add ann@example.org</code>
              </p>
            }
          />
        </Section>
        <AdminKeys />
      </div>
      <DialogWindow
        title={`Sign-in link for ${invitation?.email ?? ''}`}
        open={invitation !== undefined}
        onOpenChange={() => setInvitation(undefined)}
      >
        {invitation && (
          <div className="mt-3 grid gap-3">
            <OneTimeValue what="Link" value={invitation.url} />
            <p>
              It signs its person in once, and ends <Time at={invitation.expiresAt} />. Send it on a way that
              nobody else reads.
            </p>
          </div>
        )}
        <button type="button" className="button mt-4" onClick={() => setInvitation(undefined)}>
          Close
        </button>
      </DialogWindow>
    </Screen>
  );
}

type OnInvited = (email: string, link: Schemas['SignInLink'] | undefined) => void;

function AddMember({ onAdded }: { readonly onAdded: OnInvited }) {
  return (
    <FormDialog
      primary
      trigger="Add a person"
      title="Add a person"
      submit="Add"
      action={(values) =>
        answerOf(
          api.POST('/api/members', {
            body: { email: textOf(values, 'email'), role: textOf(values, 'role') as Role },
          }),
        )
      }
      onDone={({ member, link }) => onAdded(member.email, link)}
    >
      <TextField name="email" label="E-mail address" type="email" required maxLength={254} />
      <SelectField name="role" label="Role" options={ROLES} defaultValue="member" hint={ROLE_HINT} />
    </FormDialog>
  );
}

function Actions({ member, onInvited }: { readonly member: Member; readonly onInvited: OnInvited }) {
  const { id, email, role } = member;
  const path = { params: { path: { id } } };
  const who = <bdi>{email}</bdi>;
  return (
    <div className="flex flex-wrap gap-2">
      <FormDialog
        trigger={<Named what="Role" of={email} />}
        title={<>Role of {who}</>}
        submit="Change"
        action={(values) =>
          answerOf(
            api.PATCH('/api/members/{id}', { ...path, body: { role: textOf(values, 'role') as Role } }),
          )
        }
        onDone={() => notify(`The role of ${email} is changed.`)}
      >
        <SelectField
          name="role"
          label="Role"
          options={ROLES}
          defaultValue={role}
          hint={`${ROLE_HINT} Who stops being an admin loses their admin keys.`}
        />
      </FormDialog>
      <FormDialog
        trigger={<Named what="New link" of={email} />}
        title={<>New sign-in link for {who}</>}
        submit="Make the link"
        action={() => answerOf(api.POST('/api/members/{id}/link', path))}
        onDone={(link) => onInvited(email, link)}
      >
        <p>The former link, if it was not used, is void.</p>
      </FormDialog>
      <ConfirmDialog
        trigger={<Named what="Remove" of={email} />}
        title={<>Remove {who}</>}
        submit="Remove"
        action={() => answerOf(api.DELETE('/api/members/{id}', path))}
        onDone={() => notify(`${email} is removed.`)}
      >
        <p>
          Their sessions, command lines, links and admin keys end at once. Agents, grants and policies that
          they made stay.
        </p>
      </ConfirmDialog>
    </div>
  );
}
