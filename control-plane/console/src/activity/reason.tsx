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
        isSimulable(event) && (
          <Link to="/policies/simulate" search={{ event: String(seq) }} className="button">
            Simulate this request
          </Link>
        )
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
