import { Navigate, getRouteApi, useNavigate } from '@tanstack/react-router';
import { BrokenScreen } from '../parts/failure.tsx';
import { notify } from '../parts/notice.tsx';
import { Screen } from '../parts/screen.tsx';
import { useAskedRequest } from './asked-request.ts';
import { EventWords } from './event-words.tsx';
import { PolicyForm, newRule } from './policy-form.tsx';
import type { Event, ListedTarget } from './queries.ts';
import { rulesThatDeny } from './rule-changes.ts';
import { RULE_NAMES, type Rule, type RuleType } from './rule-words.ts';

const TYPES = Object.keys(RULE_NAMES) as readonly RuleType[];

const route = getRouteApi('/policies/new');

/** A new policy; with an event in the address, one that denies requests like that. */
export function NewPolicy() {
  const { from, ...search } = route.useSearch();
  const rule = TYPES.find((type) => type === search.rule);
  const { event, simulation, error, isPending } = useAskedRequest(from === undefined ? {} : { event: from });
  if (from === undefined) return <NewPolicyScreen rules={rule === undefined ? [] : [newRule(rule)]} />;
  if (error) return <BrokenScreen error={error} />;
  if (isPending) return <p className="text-dim">Loading…</p>;
  // What was denied needs a change of the policy that denied it.
  if (event?.outcome !== 'success')
    return <Navigate to="/policies/simulate" search={{ event: from }} replace />;
  return (
    <NewPolicyScreen
      event={event}
      targets={targetOf(event)}
      rules={[firstRule(rule, simulation ?? { ...NOWHERE, at: event.timestamp })]}
    />
  );
}

const NOWHERE = { ip: null, country: null };

const firstRule = (type: RuleType | undefined, facts: Parameters<typeof rulesThatDeny>[0]): Rule => {
  const offered = rulesThatDeny(facts);
  return (offered.find((each) => each.type === type) ?? offered[0])?.rule ?? newRule('time_window');
};

function targetOf({ agentId, agentName, proxyId, proxyName }: Event): readonly ListedTarget[] {
  const named = (targetName: string | undefined) => targetName !== undefined && { targetName };
  if (proxyId !== undefined) return [{ targetType: 'proxy', targetId: proxyId, ...named(proxyName) }];
  return agentId === undefined ? [] : [{ targetType: 'agent', targetId: agentId, ...named(agentName) }];
}

function NewPolicyScreen(props: {
  readonly rules: readonly Rule[];
  readonly targets?: readonly ListedTarget[];
  readonly event?: Event;
}) {
  const { rules, targets = [], event } = props;
  const navigate = useNavigate();
  return (
    <Screen title="New policy" up={{ to: '/policies', name: 'Policies' }}>
      {event && (
        <p className="mt-2">
          <EventWords event={event} /> This policy denies requests like it.
        </p>
      )}
      <PolicyForm
        first={{ name: '', enabled: true, rules }}
        targets={targets}
        event={event}
        onSaved={({ id }) => {
          notify('The policy is created.');
          void navigate({ to: '/policies/$id', params: { id } });
        }}
        onCancel={() => void navigate({ to: '/policies' })}
      />
    </Screen>
  );
}
