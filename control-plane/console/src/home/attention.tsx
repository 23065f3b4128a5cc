import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { answerOf, api } from '../api/client.ts';
import { attentionQuery } from '../api/queries.ts';
import { Failure } from '../parts/failure.tsx';
import { Section } from '../parts/screen.tsx';
import { AttentionText, type Item } from './attention-text.tsx';
import { numberText } from './figure.tsx';

/** More are a list for the command line; one request marks no more than 50. */
const MAX_SHOWN = 20;

/** What somebody has to do something about, each with where. What one has seen is out of the way until it occurs anew. */
export function Attention() {
  const queryClient = useQueryClient();
  const { data, error, refetch } = useQuery(attentionQuery);
  const seen = useMutation({
    mutationFn: (ids: string[]) => answerOf(api.POST('/api/attention/seen', { body: { ids } })),
    onSuccess: (answer) => queryClient.setQueryData(attentionQuery.queryKey, answer),
  });
  if (error && data === undefined) return <Failure error={error} reset={() => void refetch()} />;
  if (data === undefined || data.items.length === 0) return null;
  const fresh = data.items.filter((item) => !item.seen);
  const known = data.items.filter((item) => item.seen);
  return (
    <Section
      id="attention"
      title="Needs attention"
      actions={
        fresh.length > 1 && (
          <button
            type="button"
            className="button"
            onClick={() => seen.mutate(fresh.slice(0, MAX_SHOWN).map(({ id }) => id))}
          >
            Mark these as seen
          </button>
        )
      }
    >
      <Items items={fresh} onSeen={(id) => seen.mutate([id])} />
      {seen.error && <Failure error={seen.error} />}
      {known.length > 0 && (
        <details className="mt-2">
          <summary className="cursor-pointer text-sm text-dim">{numberText(known.length)} seen</summary>
          <Items items={known} />
        </details>
      )}
    </Section>
  );
}

function Items(props: { readonly items: readonly Item[]; readonly onSeen?: (id: string) => void }) {
  const { items, onSeen } = props;
  return (
    <>
      <ul className="mt-2 divide-y divide-line">
        {items.slice(0, MAX_SHOWN).map((item) => (
          <li key={item.id} className="flex flex-wrap items-baseline justify-between gap-x-4 py-1.5">
            <p className="min-w-0 wrap-anywhere">
              {item.severity === 'critical' && <strong className="text-warn">Critical: </strong>}
              <AttentionText item={item} />
            </p>
            {onSeen && (
              <button
                type="button"
                className="cursor-pointer text-sm text-dim underline"
                onClick={() => onSeen(item.id)}
              >
                Mark as seen
              </button>
            )}
          </li>
        ))}
      </ul>
      {items.length > MAX_SHOWN && (
        <p className="mt-2 text-sm text-dim">
          And {numberText(items.length - MAX_SHOWN)} more: <code>svault account attention</code>
        </p>
      )}
    </>
  );
}
