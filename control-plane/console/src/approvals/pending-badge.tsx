import { useQuery } from '@tanstack/react-query';
import { pendingQuery } from './queries.ts';

/** How many requests wait for a decision; nothing where none does. */
export function PendingBadge() {
  const { data } = useQuery(pendingQuery);
  const count = data?.items.length ?? 0;
  if (count === 0) return null;
  return (
    <span className="rounded-full bg-accent px-2 text-sm/6 font-semibold text-on-accent tabular-nums">
      {count}
      {data?.nextCursor && '+'}
      <span className="sr-only"> pending</span>
    </span>
  );
}
