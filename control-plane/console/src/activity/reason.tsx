import { Link } from '@tanstack/react-router';
import type { AuditEvent } from '../events/event-words.ts';
import { Section } from '../parts/screen.tsx';
import { Explanation } from './explanation.tsx';
import { PolicyDenial, isSimulable } from './policy-denial.tsx';

/** Why an event was denied or failed, and what to do about it. */
export function Reason({ event }: { readonly event: AuditEvent }) {
  const { seq, outcome, detail = {} } = event;
  const { code, reason, policy } = detail;
  const known = code ?? reason;
  return (
    <Section
      id="why"
      title={outcome === 'error' ? 'Why it failed' : 'Why it was denied'}
      actions={
        <>
          <Remedy event={event} />
          {isSimulable(event) && (
            <Link to="/policies/simulate" search={{ event: String(seq) }} className="button">
              Simulate this request
            </Link>
          )}
        </>
      }
    >
      {typeof policy === 'string' ? (
        <PolicyDenial event={event} policy={policy} />
      ) : known === undefined ? (
        <p className="mt-2">No reason was recorded.</p>
      ) : (
        <Explanation code={String(known)} by="control-plane" />
      )}
    </Section>
  );
}

/** The screen on which the reason is ended. */
function Remedy({ event: { agentId, proxyId, detail } }: { readonly event: AuditEvent }) {
  const callerId = agentId ?? proxyId;
  switch (detail?.['code']) {
    case 'VAULT_LOCKED':
    case 'WEBHOOK_NOT_CONFIGURED':
    case 'WEBHOOK_UNAVAILABLE':
      return (
        <Link to="/webhook" className="button">
          Open the vault and webhook
        </Link>
      );
    case 'AGENT_INACTIVE':
    case 'NO_GRANT':
    case 'GRANT_EXPIRED':
    case 'MCP_DISABLED':
      return (
        agentId && (
          <Link
            to="/agents/$id"
            params={{ id: agentId }}
            search={detail['code'] === 'MCP_DISABLED' ? { tab: 'clients' } : {}}
            className="button"
          >
            Open the agent
          </Link>
        )
      );
    case 'RATE_LIMITED':
      return (
        <Link to="/limits" search={callerId === undefined ? {} : { callerId }} className="button">
          Open its limits
        </Link>
      );
    default:
      return null;
  }
}
