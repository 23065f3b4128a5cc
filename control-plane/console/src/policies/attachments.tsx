import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { answerOf, api } from '../api/client.ts';
import { ConfirmDialog, FormDialog } from '../parts/dialog.tsx';
import { textOf } from '../parts/form.tsx';
import { List, ROW_LINK } from '../parts/list.tsx';
import { notify } from '../parts/notice.tsx';
import { type ListedTarget, type Policy, attachmentsQuery } from './queries.ts';
import { policyWords } from './rule-words.ts';
import { TargetFields } from './target-fields.tsx';
import { TARGET_NAMES, type TargetType, targetKey, targetNamed, targetText } from './targets.ts';

/** What a policy is attached to, a page at a time. */
export function Attachments({
  policy,
  cursor,
}: {
  readonly policy: Policy;
  readonly cursor: string | undefined;
}) {
  const query = useQuery(attachmentsQuery(policy.id, cursor));
  return (
    <section aria-labelledby="attached" className="mt-2">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 id="attached">Attached to</h2>
        <Attach policy={policy} />
      </div>
      <List
        name="attachments"
        query={query}
        columns={['Kind', 'Name', '']}
        rowClass="items-center gap-x-4 grid-cols-[6rem_minmax(0,1fr)_auto]"
        rowKey={targetKey}
        row={(target) => (
          <>
            <span className="text-dim">{TARGET_NAMES[target.targetType]}</span>
            <span className="min-w-0 wrap-anywhere">
              <TargetLink target={target} />
            </span>
            <Detach policy={policy} target={target} />
          </>
        )}
        empty={
          <p>
            Attached to nothing, so it decides about no request. To attach it:{' '}
            <code>svault policies attach {policy.id} --agent NAME</code>
          </p>
        }
      />
    </section>
  );
}

function TargetLink({ target }: { readonly target: ListedTarget }): ReactNode {
  const { targetType, targetId: id } = target;
  const name = <bdi>{targetText(target)}</bdi>;
  switch (targetType) {
    case 'agent':
      return (
        <Link {...ROW_LINK} to="/agents/$id" params={{ id }}>
          {name}
        </Link>
      );
    case 'proxy':
      return (
        <Link {...ROW_LINK} to="/connect/$id" params={{ id }}>
          {name}
        </Link>
      );
    case 'token':
      return (
        <Link {...ROW_LINK} to="/credentials/$serviceName" params={{ serviceName: id }}>
          {name}
        </Link>
      );
  }
}

function Attach({ policy: { id, name, rules, enabled } }: { readonly policy: Policy }) {
  const attach = async (values: FormData): Promise<ListedTarget> => {
    const target = await targetNamed(
      textOf(values, 'targetType') as TargetType,
      textOf(values, 'targetId'),
      'targetId',
    );
    const { targetType, targetId } = target;
    await answerOf(
      api.POST('/api/policies/{id}/attachments', {
        params: { path: { id } },
        body: { targetType, targetId },
      }),
    );
    return target;
  };
  return (
    <FormDialog
      trigger="Attach"
      title="Attach this policy"
      submit="Attach"
      action={attach}
      onDone={({ targetType }) =>
        notify(`The policy is attached to the ${TARGET_NAMES[targetType].toLowerCase()}.`)
      }
    >
      <p className="wrap-anywhere">
        {enabled ? 'From its next request on, ' : 'Once the policy is enabled, '}
        <bdi>{name}</bdi> decides about it: {policyWords(rules)}.
      </p>
      <TargetFields types={['agent', 'proxy', 'token']} label="Attach to" />
    </FormDialog>
  );
}

function Detach({
  policy: { id, name, rules },
  target,
}: {
  readonly policy: Policy;
  readonly target: ListedTarget;
}) {
  const { targetType, targetId } = target;
  const kind = TARGET_NAMES[targetType].toLowerCase();
  return (
    <ConfirmDialog
      trigger={
        <>
          Detach<span className="sr-only"> {targetText(target)}</span>
        </>
      }
      title="Detach this policy?"
      submit="Detach"
      action={() =>
        answerOf(
          api.DELETE('/api/policies/{id}/attachments', {
            params: { path: { id } },
            body: { targetType, targetId },
          }),
        )
      }
      onDone={() => notify(`The policy is detached from the ${kind}.`)}
    >
      <p>
        <bdi>{name}</bdi> no longer decides about the {kind} <bdi>{targetText(target)}</bdi>.
        {rules.some(({ type }) => type === 'max_usage') && ' The uses that it counted there are forgotten.'}
      </p>
    </ConfirmDialog>
  );
}
