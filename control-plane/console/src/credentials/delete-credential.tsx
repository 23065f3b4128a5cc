import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type Schemas, answerOf, api } from '../api/client.ts';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { notify } from '../parts/notice.tsx';
import { reachQuery } from './queries.ts';

const RECORDS: Readonly<Record<Schemas['TokenRemoval']['webhook'], string>> = {
  deleted: 'The webhook keeps its secret for 7 days, and then forgets it.',
  absent: 'The webhook held no secret for it.',
  unreachable:
    'The webhook did not answer and still has its secret. When it is back, run svault rm once more.',
  not_bound: 'No webhook is bound that could hold its secret.',
};

/** Deletes a credential, and says before who loses it. */
export function DeleteCredential({ serviceName }: { readonly serviceName: string }) {
  const navigate = useNavigate();
  return (
    <ConfirmDialog
      trigger="Delete"
      title={
        <>
          Delete <bdi>{serviceName}</bdi>?
        </>
      }
      submit="Delete"
      action={() => answerOf(api.DELETE('/api/tokens/{serviceName}', { params: { path: { serviceName } } }))}
      onDone={({ webhook }) => {
        notify(`${serviceName.slice(0, 100)} is deleted. ${RECORDS[webhook]}`);
        return navigate({ to: '/credentials' });
      }}
    >
      <WhoLosesIt serviceName={serviceName} />
      <p className="mt-2 text-sm text-dim">
        The webhook keeps its secret for 7 days, out of anybody’s reach, and then forgets it.
      </p>
    </ConfirmDialog>
  );
}

function WhoLosesIt({ serviceName }: { readonly serviceName: string }) {
  const { data, error } = useQuery(reachQuery(serviceName));
  if (error) return <p>Every agent and proxy that has it loses it at once, with each grant for it.</p>;
  if (data === undefined) return <p className="text-dim">Looking who loses it…</p>;
  if (data.items.length === 0) return <p>No agent and no proxy can reach it now: none loses it.</p>;
  return (
    <>
      <p>At once these lose it, with each grant for it:</p>
      <ul tabIndex={0} aria-label="Who loses it" className="mt-1 max-h-48 list-disc overflow-y-auto pl-5">
        {data.items.map(({ caller: { type, id, name } }) => (
          <li key={id}>
            <bdi>{name}</bdi>
            {type === 'proxy' && ' (proxy)'}
          </li>
        ))}
        {data.nextCursor && <li>and more</li>}
      </ul>
    </>
  );
}
