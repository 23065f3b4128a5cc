import type { Schemas } from '../api/client.ts';
import { Time } from '../parts/time.tsx';
import { Figure, numberText } from './figure.tsx';

/** Requests for credentials of the last day, by what they came to. */
export function Activity({ activity }: { readonly activity: Schemas['Overview']['activity'] }) {
  const { since, accesses, denied, rateLimited, errors } = activity;
  return (
    <section aria-labelledby="activity" className="card">
      <h2 id="activity">Requests for credentials</h2>
      <p className="text-sm text-dim">
        Since <Time at={since} />
      </p>
      <dl className="mt-3 grid grid-cols-2 gap-4 sm:grid-cols-4">
        <Figure name="Granted" value={numberText(accesses)} />
        <Figure name="Denied" value={numberText(denied)} />
        <Figure name="Rate limited" value={numberText(rateLimited)} />
        <Figure name="Failed" value={numberText(errors)} />
      </dl>
    </section>
  );
}
