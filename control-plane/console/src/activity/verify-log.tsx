import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Schemas } from '../api/client.ts';
import { Failure } from '../parts/failure.tsx';
import { Section } from '../parts/screen.tsx';
import { verifyLog } from './audit-queries.ts';

/** Whether the log is as it was written. */
export function VerifyLog() {
  const { mutate, data, error, isPending } = useMutation({ mutationFn: verifyLog });
  return (
    <div className="mt-6">
      <Section
        id="verify"
        title="Is this log as it was written?"
        actions={
          <button
            type="button"
            aria-disabled={isPending}
            className="button"
            onClick={() => !isPending && mutate()}
          >
            Verify
          </button>
        }
      >
        <p className="mt-1 text-sm text-dim">
          Each event has a hash over itself and all before it. Verifying follows them from the first event to
          the last.
        </p>
        <div role="status" className="mt-2">
          {isPending && <p className="text-dim">Verifying…</p>}
          {!isPending && data && <Verdict verdict={data} />}
        </div>
        {error && <Failure error={error} />}
      </Section>
    </div>
  );
}

const PROBLEMS = {
  missing: 'is missing',
  changed: 'was changed after it was written',
  cut: 'and all after it were removed',
  added: 'was added outside of the chain',
} as const;

function Verdict({ verdict }: { readonly verdict: Schemas['AuditVerdict'] }) {
  const { intact, events = 0, head, seq, problem = 'changed' } = verdict;
  if (intact)
    return (
      <p className="wrap-anywhere">
        <strong className="text-good">Intact.</strong> {events.toLocaleString('en')} events were verified
        {head && (
          <>
            . The last is number {head.seq}, with the hash <code>{head.hash}</code>
          </>
        )}
        .
      </p>
    );
  return (
    <p className="wrap-anywhere">
      <strong className="text-warn">Not intact.</strong>{' '}
      {seq !== undefined && (
        <Link to="/activity/$seq" params={{ seq: String(seq) }}>
          Event {seq}
        </Link>
      )}{' '}
      {PROBLEMS[problem]}. Compare it with the copy at the webhook, on its machine:{' '}
      <code>svault-run webhook audit verify</code>
    </p>
  );
}
