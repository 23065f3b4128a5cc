import { useEffect, useState } from 'react';
import { timeLeft } from './approval-words.ts';

const SECOND_MS = 1_000;

/** The time until an approval expires, counting down. It has no live region: it would never be silent. */
export function TimeLeft({ until }: { readonly until: string }) {
  const nowMs = useNow();
  const left = timeLeft(until, nowMs);
  return (
    <time dateTime={until} title={new Date(until).toLocaleString()} className="tabular-nums">
      {left === undefined ? 'expired' : `${left} left`}
    </time>
  );
}

function useNow(): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, []);
  return nowMs;
}
