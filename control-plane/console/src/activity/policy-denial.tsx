import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type AuditEvent, ruleName } from '../events/event-words.ts';
import { useAskedRequest } from '../policies/asked-request.ts';
import { denialWords } from '../policies/denial-words.ts';
import { type Simulation, policiesQuery } from '../policies/queries.ts';
import { changeThatAllows } from '../policies/rule-changes.ts';
import { ruleWords } from '../policies/rule-words.ts';
import { TARGET_NAMES, type TargetType } from '../policies/targets.ts';

type RulePart = Simulation['rules'][number];

/** Why a policy denied a request, by the settings that its rule has now, and what to change. @param props.policy its name then */
export function PolicyDenial({ event, policy }: { readonly event: AuditEvent; readonly policy: string }) {
  const rule = event.detail?.['rule'];
  const { simulation, isPending } = useAskedRequest(isSimulable(event) ? { event: String(event.seq) } : {});
  if (isPending && isSimulable(event)) return <p className="mt-2 text-dim">Loading…</p>;
  const parts = simulation?.rules.filter((part) => part.policy === policy && part.rule === rule) ?? [];
  const part = parts.find(({ allowed }) => allowed === false) ?? parts[0];
  if (simulation === undefined || part === undefined)
    return (
      <p className="mt-2 wrap-anywhere">
        The policy <PolicyByName name={policy} /> denied it by its rule{' '}
        <span className="font-semibold">{ruleName(rule)}</span>.
        {simulation && ' No enabled policy with this name and rule is attached to either of them now.'}
      </p>
    );
  const others = simulation.rules.filter((other) => other.allowed === false && other !== part).length;
  const isOtherNow = part.allowed && rule !== 'rate_limit';
  return (
    <div className="mt-2 grid gap-2 wrap-anywhere">
      <p className="text-lg">
        <Link to="/policies/$id" params={{ id: part.policyId }} className="font-semibold">
          <bdi>{policy}</bdi>
        </Link>{' '}
        on <Target type={part.targetType} event={event} />{' '}
        {isOtherNow ? (
          <>
            denied it by its rule <span className="font-semibold">{ruleName(rule)}</span>. The rule has
            changed since, and allows the request: {ruleWords(part.settings)}.
          </>
        ) : (
          denialWords(part.settings, { ...simulation, used: part.used })
        )}
      </p>
      {!isOtherNow && <Change {...{ event, part, simulation }} />}
      {others > 0 && (
        <p className="text-sm text-dim">
          {others === 1 ? 'Another rule denies' : `${others} other rules deny`} it, too: simulate the request
          to see all.
        </p>
      )}
    </div>
  );
}

/** The change of the rule that lets the request through, and the form in which it is made. */
function Change(props: {
  readonly event: AuditEvent;
  readonly part: RulePart;
  readonly simulation: Simulation;
}) {
  const { event, part, simulation } = props;
  const { policyId, position, settings, used } = part;
  const { words, rule } = changeThatAllows(settings, { ...simulation, used });
  const seq = String(event.seq);
  return (
    <>
      <p>
        <span className="font-medium">To let it through:</span> {words}
      </p>
      <p className="flex flex-wrap gap-3">
        <Link
          to="/policies/$id/edit"
          params={{ id: policyId }}
          search={{ event: seq, allow: String(position) }}
          className="button button-primary"
        >
          {rule === undefined ? 'Edit the policy' : 'Edit the policy with this change'}
        </Link>
      </p>
    </>
  );
}

function Target({ type, event }: { readonly type: TargetType; readonly event: AuditEvent }): ReactNode {
  const name = {
    agent: event.agentName ?? event.agentId,
    proxy: event.proxyName ?? event.proxyId,
    token: event.serviceName,
  }[type];
  return (
    <>
      the {TARGET_NAMES[type].toLowerCase()} <bdi className="font-semibold">{name}</bdi>
    </>
  );
}

/** Leads to the policy of a name where there is exactly one, and else to the list: it may have another name by now. */
function PolicyByName({ name }: { readonly name: string }) {
  const { data } = useQuery(policiesQuery({ name }));
  const found = data?.items.filter((policy) => policy.name === name) ?? [];
  const text = <bdi className="font-semibold">{name}</bdi>;
  if (found.length !== 1 || found[0] === undefined)
    return (
      <Link to="/policies" search={{ name }}>
        {text}
      </Link>
    );
  return (
    <Link to="/policies/$id" params={{ id: found[0].id }}>
      {text}
    </Link>
  );
}

/** Whether an event reports a request for a credential whose parts are all known. */
export const isSimulable = ({ eventType, serviceName, agentId, proxyId }: AuditEvent): boolean =>
  ['AGENT_CREDENTIAL_ACCESS', 'PROXY_CREDENTIAL_USE'].includes(eventType) &&
  serviceName !== undefined &&
  (agentId ?? proxyId) !== undefined;
