import { useQuery } from '@tanstack/react-query';
import { attentionQuery, overviewQuery, setupQuery } from '../api/queries.ts';
import { pendingQuery } from '../approvals/queries.ts';
import { Failure } from '../parts/failure.tsx';
import { Activity } from './activity.tsx';
import { Attention } from './attention.tsx';
import { Counts } from './counts.tsx';
import { LiveFeed } from './live-feed.tsx';
import { MostActive } from './most-active.tsx';
import { PendingApprovals } from './pending-approvals.tsx';
import { SetupSteps } from './setup-steps.tsx';
import { States } from './states.tsx';

/** How the account is doing, and what to do next. */
export function Home() {
  const { data, error, isPending, refetch } = useQuery(overviewQuery);
  // What comes later would move what is read already.
  const isLoading = [
    isPending,
    useQuery(attentionQuery).isPending,
    useQuery(setupQuery).isPending,
    useQuery(pendingQuery).isPending,
  ].some(Boolean);
  return (
    <>
      <title>Home · svault</title>
      <h1>Home</h1>
      <div className="mt-4 grid gap-4">
        {isLoading ? (
          <p className="min-h-96 text-dim">Loading…</p>
        ) : (
          <>
            <SetupSteps />
            <PendingApprovals />
            <Attention />
            {!data && error && <Failure error={error} reset={() => void refetch()} />}
            {data && <States overview={data} />}
            {data && <Counts overview={data} />}
          </>
        )}
        <div className="grid gap-4 xl:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
          <Activity />
          <MostActive />
        </div>
        <LiveFeed />
      </div>
    </>
  );
}
