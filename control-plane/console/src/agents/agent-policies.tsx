import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { policyNamesQuery } from '../api/queries.ts';
import { ConfirmDialog, FormDialog } from '../parts/dialog.tsx';
import { SelectField, TextField, textOf } from '../parts/form.tsx';
import { ROW_LINK } from '../parts/list.tsx';
import { notify } from '../parts/notice.tsx';
import { usePaused } from '../parts/use-paused.ts';
import { RULE_NAMES, type RuleType } from '../policies/rule-words.ts';
import { TabHeading } from './tab-heading.tsx';

interface OfAgent {
  readonly agent: Schemas['AgentDetail'];
}

/** The policies of the agent itself. */
export function AgentPolicies({ agent }: OfAgent) {
  const { policies } = agent;
  return (
    <>
      <TabHeading
        title="Policies"
        says="They restrict each request of this agent. Those of its credentials apply as well."
        actions={agent.status !== 'deleted' && <AttachPolicy agent={agent} />}
      />
      {policies.length === 0 ? (
        <p className="mt-4">
          No policy is attached to the agent itself.{' '}
          {agent.status !== 'deleted' && (
            <>
              To make one, see <Link to="/policies/new">New policy</Link>; to attach one:{' '}
              <code>svault policies attach POLICY --agent {agent.id}</code>
            </>
          )}
        </p>
      ) : (
        <ul aria-label="Policies" className="card mt-4 divide-y divide-line py-0">
          {policies.map((policy) => (
            <li
              key={policy.id}
              className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 py-2.5"
            >
              <div className="min-w-0 wrap-anywhere">
                <p className="font-medium">
                  <Link {...ROW_LINK} to="/policies/$id" params={{ id: policy.id }}>
                    <bdi>{policy.name}</bdi>
                  </Link>{' '}
                  {!policy.enabled && <span className="text-warn">Off</span>}
                </p>
                <p className="text-sm text-dim">{policy.ruleTypes.map(ruleName).join(', ')}</p>
              </div>
              {agent.status !== 'deleted' && <DetachPolicy agent={agent} policy={policy} />}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const ruleName = (type: string): string =>
  Object.hasOwn(RULE_NAMES, type) ? RULE_NAMES[type as RuleType] : type;

function AttachPolicy({ agent: { id, policies } }: OfAgent) {
  return (
    <FormDialog
      primary
      trigger="Attach a policy"
      title="Attach a policy"
      submit="Attach"
      action={(values) =>
        answerOf(
          api.POST('/api/policies/{id}/attachments', {
            params: { path: { id: textOf(values, 'policyId') } },
            body: { targetType: 'agent', targetId: id },
          }),
        )
      }
      onDone={() => notify('The policy is attached.')}
    >
      <PolicyField attached={policies.map((policy) => policy.id)} />
    </FormDialog>
  );
}

function PolicyField({ attached }: { readonly attached: readonly string[] }) {
  const [typed, setTyped] = useState('');
  const { data } = useQuery(policyNamesQuery(usePaused(typed)));
  if (data === undefined) return <p className="text-dim">Loading…</p>;
  const options = data.items
    .filter(({ id }) => !attached.includes(id))
    .map(({ id, name, enabled }) => [id, enabled ? name : `${name} (off)`] as const);
  return (
    <>
      {(data.nextCursor !== undefined || typed !== '') && (
        <TextField
          name="search"
          type="search"
          label="Find"
          hint="A part of the name."
          maxLength={100}
          onChange={({ target }) => setTyped(target.value)}
        />
      )}
      <SelectField
        name="policyId"
        label="Policy"
        hint="From the next request on, all rules of the policy must allow it."
        required
        options={[['', options.length === 0 ? 'There is no such policy' : 'Choose a policy'], ...options]}
      />
    </>
  );
}

function DetachPolicy(props: OfAgent & { readonly policy: Schemas['AgentDetail']['policies'][number] }) {
  const { agent, policy } = props;
  return (
    <ConfirmDialog
      trigger={
        <>
          Detach
          <span className="sr-only"> {policy.name}</span>
        </>
      }
      title={
        <>
          Detach <bdi>{policy.name}</bdi>?
        </>
      }
      submit="Detach"
      action={() =>
        answerOf(
          api.DELETE('/api/policies/{id}/attachments', {
            params: { path: { id: policy.id } },
            body: { targetType: 'agent', targetId: agent.id },
          }),
        )
      }
      onDone={() => notify('The policy is detached.')}
    >
      <p>
        It no longer restricts requests of <bdi>{agent.name}</bdi>, and forgets what it has counted for it.
        Other agents, proxies and credentials that have it keep it.
      </p>
    </ConfirmDialog>
  );
}
