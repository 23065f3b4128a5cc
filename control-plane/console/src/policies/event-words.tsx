import { Link } from '@tanstack/react-router';
import { Time } from '../parts/time.tsx';
import type { Event } from './queries.ts';
import { RULE_NAMES, type RuleType } from './rule-words.ts';

/** What an event of the log says about a request, as a sentence. */
export function EventWords({ event }: { readonly event: Event }) {
  const { seq, timestamp, agentName, agentId, proxyName, proxyId, serviceName, origin } = event;
  return (
    <span className="wrap-anywhere">
      <Link to="/activity/$seq" params={{ seq: String(seq) }}>
        Event {seq}
      </Link>
      , <Time at={timestamp} />: <bdi>{proxyName ?? proxyId ?? agentName ?? agentId}</bdi> asked for{' '}
      <bdi>{serviceName}</bdi> from {origin?.address ?? 'an unknown address'} and <Outcome event={event} />.
    </span>
  );
}

function Outcome({ event: { outcome, detail } }: { readonly event: Event }) {
  if (outcome === 'success') return <strong className="text-good">was allowed</strong>;
  const { code, policy, rule } = detail ?? {};
  if (typeof policy === 'string')
    return (
      <>
        <strong className="text-warn">was denied</strong> by the rule “{ruleName(rule)}” of{' '}
        <bdi>{policy}</bdi>
      </>
    );
  return (
    <>
      <strong className="text-warn">was denied</strong> with <code>{String(code ?? outcome)}</code>
    </>
  );
}

const ruleName = (rule: unknown): string =>
  Object.hasOwn(RULE_NAMES, String(rule)) ? RULE_NAMES[rule as RuleType] : String(rule);
