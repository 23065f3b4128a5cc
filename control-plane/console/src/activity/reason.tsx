import { Link } from '@tanstack/react-router';
import { type AuditEvent, ruleName } from '../events/event-words.ts';
import { Section } from '../parts/screen.tsx';
import { Explanation } from './explanation.tsx';

/** Why an event was denied or failed, and what to do about it. */
export function Reason({ event }: { readonly event: AuditEvent }) {
  const { seq, outcome, detail = {} } = event;
  const { code, reason, policy, rule } = detail;
  const known = code ?? reason;
  return (
    <Section
      id="why"
      title={outcome === 'error' ? 'Why it failed' : 'Why it was denied'}
      actions={
        isSimulable(event) && (
          <Link to="/policies/simulate" search={{ event: String(seq) }} className="button">
            Simulate this request
          </Link>
        )
      }
    >
      {typeof policy === 'string' && (
        <p className="mt-2 wrap-anywhere">
          The policy{' '}
          <Link to="/policies" search={{ name: policy }} className="font-semibold">
            <bdi>{policy}</bdi>
          </Link>{' '}
          denied it by its rule <span className="font-semibold">{ruleName(rule)}</span>.
        </p>
      )}
      {known === undefined ? (
        <p className="mt-2">No reason was recorded.</p>
      ) : (
        <Explanation code={String(known)} by="control-plane" />
      )}
    </Section>
  );
}

/** Whether an event reports a request for a credential whose parts are all known. */
const isSimulable = ({ eventType, serviceName, agentId, proxyId }: AuditEvent): boolean =>
  ['AGENT_CREDENTIAL_ACCESS', 'PROXY_CREDENTIAL_USE'].includes(eventType) &&
  serviceName !== undefined &&
  (agentId ?? proxyId) !== undefined;
