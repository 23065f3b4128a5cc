import { type AuditEvent, wordsOf } from '../events/event-words.ts';
import { Section } from '../parts/screen.tsx';
import { Explanation } from './explanation.tsx';

/** Why an event was denied or failed, and what to do about it. */
export function Reason({ event: { outcome, detail = {} } }: { readonly event: AuditEvent }) {
  const { code, reason, policy, rule } = detail;
  const known = code ?? reason;
  return (
    <Section id="why" title={outcome === 'error' ? 'Why it failed' : 'Why it was denied'}>
      {typeof policy === 'string' && (
        <p className="mt-2 wrap-anywhere">
          The policy <bdi className="font-semibold">{policy}</bdi> denied it
          {typeof rule === 'string' && (
            <>
              {' '}
              by its rule <span className="font-semibold">{wordsOf(rule)}</span>
            </>
          )}
          .
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
