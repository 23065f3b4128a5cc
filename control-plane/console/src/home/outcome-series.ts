import type { Schemas } from '../api/client.ts';
import type { AuditEvent } from '../events/event-words.ts';

type Bucket = Schemas['ActivityBucket'];

/** What requests for credentials come to: each with its word, its fill in the chart, and the outcome of its events. */
export const SERIES = [
  { of: 'accesses', name: 'Granted', fill: 'fill-accent', outcome: 'success' },
  { of: 'denied', name: 'Denied', fill: 'fill-[url(#denied)]', outcome: 'denied' },
  { of: 'rateLimited', name: 'Rate limited', fill: 'fill-[url(#rate-limited)]', outcome: 'rate_limited' },
  { of: 'errors', name: 'Failed', fill: 'fill-ink', outcome: 'error' },
] as const satisfies readonly {
  readonly of: Exclude<keyof Bucket, 'start'>;
  readonly name: string;
  readonly fill: string;
  readonly outcome: AuditEvent['outcome'];
}[];

/** All requests of an hour, or of an agent. */
export const totalOf = (bucket: Omit<Bucket, 'start'>): number =>
  SERIES.reduce((sum, { of }) => sum + bucket[of], 0);

const hour = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/** The start of a bucket as the clock here says it. */
export const hourOf = ({ start }: Pick<Bucket, 'start'>): string => hour.format(new Date(start));
