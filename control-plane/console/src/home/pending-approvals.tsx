import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { byEnd } from '../approvals/approval-words.ts';
import { pendingQuery } from '../approvals/queries.ts';
import { TimeLeft } from '../approvals/time-left.tsx';

/** That somebody waits for a decision; nothing where nobody does. */
export function PendingApprovals() {
  const { data } = useQuery(pendingQuery);
  const [first, ...others] = byEnd(data?.items ?? []);
  if (first === undefined) return null;
  return (
    <section aria-label="Approvals" className="card flex flex-wrap items-center justify-between gap-3">
      <p>
        {others.length === 0 ? 'One pending approval' : `${1 + others.length} pending approvals`}
        {others.length === 0 ? ', ' : ', the first with '}
        <TimeLeft until={first.expiresAt} />.
      </p>
      <Link to="/approvals" className="button button-primary">
        Decide
      </Link>
    </section>
  );
}
