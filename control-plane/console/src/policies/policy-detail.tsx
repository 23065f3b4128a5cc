import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { answerOf, api } from '../api/client.ts';
import { Snippet } from '../parts/copy.tsx';
import { ConfirmDialog, FormDialog } from '../parts/dialog.tsx';
import { Failure, ScreenNotLoaded } from '../parts/failure.tsx';
import { notify } from '../parts/notice.tsx';
import { Facts, Screen, Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { Attachments } from './attachments.tsx';
import { type Policy, attachmentsQuery, policyQuery } from './queries.ts';
import { RULE_NAMES, ruleWords } from './rule-words.ts';
import { TARGET_NAMES, targetKey, targetText } from './targets.ts';

const route = getRouteApi('/policies/$id');

const POLICIES = { to: '/policies', name: 'Policies' } as const;

/** One policy: its rules, and what it decides about. */
export function PolicyDetail() {
  const { id } = route.useParams();
  const { cursor } = route.useSearch();
  const query = useQuery(policyQuery(id));
  const { data: policy } = query;
  if (policy === undefined) return <ScreenNotLoaded query={query} />;
  return (
    <Screen
      title={policy.name}
      up={POLICIES}
      actions={
        <>
          <Link to="/policies/$id/edit" params={{ id }} className="button">
            Edit
          </Link>
          <Switch policy={policy} />
          <Delete policy={policy} />
        </>
      }
    >
      <div className="mt-4 grid gap-4">
        <Section id="rules" title="Rules">
          <p className="mt-1 text-sm text-dim">
            {policy.enabled
              ? 'Every rule has to allow a request.'
              : 'The policy is disabled: it decides about no request.'}
          </p>
          <ol className="mt-2 divide-y divide-line">
            {policy.rules.map((rule, at) => (
              <li key={at} className="grid gap-x-4 py-2 sm:grid-cols-[9rem_minmax(0,1fr)]">
                <span className="text-dim">{RULE_NAMES[rule.type]}</span>
                <span className="block wrap-anywhere first-letter:uppercase">{ruleWords(rule)}</span>
              </li>
            ))}
          </ol>
          <details className="mt-2">
            <summary className="cursor-pointer text-sm">JSON</summary>
            <div className="mt-2">
              <Snippet what="rules as JSON" text={JSON.stringify(policy.rules, null, 2)} />
            </div>
          </details>
        </Section>
        <Attachments policy={policy} cursor={cursor} />
        <Section id="facts" title="Facts">
          <Facts
            facts={[
              [
                'State',
                <span className={policy.enabled ? 'text-good' : 'text-warn'}>
                  {policy.enabled ? 'Enabled' : 'Disabled'}
                </span>,
              ],
              ['Id', <code>{policy.id}</code>],
              ['Created', <Time at={policy.createdAt} />],
              ['Changed', <Time at={policy.updatedAt} />],
            ]}
          />
        </Section>
      </div>
    </Screen>
  );
}

const change = (id: string, body: { readonly enabled: boolean }) =>
  answerOf(api.PATCH('/api/policies/{id}', { params: { path: { id } }, body }));

function Switch({ policy: { id, name, enabled } }: { readonly policy: Policy }) {
  if (!enabled)
    return (
      <FormDialog
        trigger="Enable"
        title="Enable this policy?"
        submit="Enable"
        action={() => change(id, { enabled: true })}
        onDone={() => notify('The policy decides from the next request on.')}
      >
        <p>
          From the next request on, <bdi>{name}</bdi> decides about:
        </p>
        <Decided id={id} />
      </FormDialog>
    );
  return (
    <ConfirmDialog
      trigger="Disable"
      title="Disable this policy?"
      submit="Disable"
      action={() => change(id, { enabled: false })}
      onDone={() => notify('The policy is disabled.')}
    >
      <p>
        <bdi>{name}</bdi> denies nothing any more. Attachments and counts stay. It stops deciding about:
      </p>
      <Decided id={id} />
    </ConfirmDialog>
  );
}

function Delete({ policy: { id, name } }: { readonly policy: Policy }) {
  const navigate = useNavigate();
  return (
    <ConfirmDialog
      trigger="Delete"
      title="Delete this policy?"
      submit="Delete"
      action={() => answerOf(api.DELETE('/api/policies/{id}', { params: { path: { id } } }))}
      onDone={() => {
        notify('The policy is deleted.');
        return navigate({ to: '/policies' });
      }}
    >
      <p>
        <bdi>{name}</bdi> is deleted with its attachments and counts. It stops deciding about:
      </p>
      <Decided id={id} />
    </ConfirmDialog>
  );
}

const NAMED = 5;

/** For whom a change of a policy changes something. */
function Decided({ id }: { readonly id: string }) {
  const { data, error } = useQuery(attachmentsQuery(id));
  if (error && data === undefined) return <Failure error={error} />;
  if (data === undefined) return <p className="text-dim">Loading…</p>;
  if (data.items.length === 0) return <p className="text-dim">Nothing: it is attached to nothing.</p>;
  const more = data.items.length - NAMED;
  return (
    <ul className="mt-2 grid list-disc gap-1 pl-5">
      {data.items.slice(0, NAMED).map((target) => (
        <li key={targetKey(target)} className="wrap-anywhere">
          {TARGET_NAMES[target.targetType]} <bdi>{targetText(target)}</bdi>
        </li>
      ))}
      {more > 0 && <li>{data.nextCursor ? `${more} and more` : `${more} more`}</li>}
    </ul>
  );
}
