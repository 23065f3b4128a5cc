import type { Schemas } from '../api/client.ts';
import { Section } from '../parts/screen.tsx';
import { ClockTime } from '../parts/time.tsx';
import { Explanation } from './explanation.tsx';

const STATES: Readonly<Record<Schemas['AuditDelivery']['status'], string>> = {
  delivered: 'The webhook delivered the credential.',
  failed: 'The webhook refused, or the call to the upstream failed.',
  pending: 'The ticket is not used yet, and still valid.',
  not_fetched: 'The ticket was not used before it expired: nobody got the credential by it.',
  unknown: 'The webhook does not answer, or its newest entries do not reach back that far.',
};

/** What became of the ticket, by the log of the webhook. */
export function Delivery({
  delivery: { status, code, at },
}: {
  readonly delivery: Schemas['AuditDelivery'];
}) {
  return (
    <Section id="delivery" title="What became of the ticket">
      <p className={`mt-2 ${status === 'failed' ? 'text-warn' : ''}`}>
        {STATES[status]}
        {at && (
          <>
            {' '}
            (<ClockTime at={at} />)
          </>
        )}
      </p>
      {code !== undefined && <Explanation code={code} by="webhook" />}
    </Section>
  );
}
