import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { answerOf, api } from '../api/client.ts';
import { attentionQuery } from '../api/queries.ts';
import { Failure } from '../parts/failure.tsx';
import { Section } from '../parts/screen.tsx';
import { AttentionText, type Item } from './attention-text.tsx';
import { numberText } from './figure.tsx';

/** More are a list for the command line. */
const MAX_SHOWN = 20;
/** In one request. */
const MAX_MARKED = 50;

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
  const fresh = linesOf(data.items.filter((item) => !item.seen));
  const known = linesOf(data.items.filter((item) => item.seen));
  const mark = (lines: readonly Line[]): void =>
    seen.mutate(lines.flatMap((line) => line.map(({ id }) => id)).slice(0, MAX_MARKED));
  return (
    <Section
      id="attention"
      title="Needs attention"
      actions={
        fresh.length > 1 && (
          <button type="button" className="button" onClick={() => mark(fresh.slice(0, MAX_SHOWN))}>
            Mark these as seen
          </button>
        )
      }
    >
      <Items lines={fresh} onSeen={(line) => mark([line])} />
      {seen.error && <Failure error={seen.error} />}
      {known.length > 0 && (
        <details className="mt-2">
          <summary className="cursor-pointer text-sm text-dim">
            {numberText(known.flat().length)} seen
          </summary>
          <Items lines={known} />
        </details>
      )}
    </Section>
  );
}

/** What is said in one sentence: one item, or the grants of one agent that expire. */
type Line = readonly [Item, ...Item[]];

function linesOf(items: readonly Item[]): readonly Line[] {
  const lines = new Map<string, [Item, ...Item[]]>();
  for (const item of items) {
    const key = item.kind === 'grant_expires' ? `${item.kind} ${item.subject.id}` : item.id;
    const line = lines.get(key);
    if (line === undefined) lines.set(key, [item]);
    else line.push(item);
  }
  return [...lines.values()];
}

function Items(props: { readonly lines: readonly Line[]; readonly onSeen?: (line: Line) => void }) {
  const { lines, onSeen } = props;
  return (
    <>
      <ul className="mt-2 divide-y divide-line">
        {lines.slice(0, MAX_SHOWN).map((line) => (
          <li key={line[0].id} className="flex flex-wrap items-baseline justify-between gap-x-4 py-1.5">
            <p className="min-w-0 wrap-anywhere">
              {line[0].severity === 'critical' && <strong className="text-warn">Critical: </strong>}
              <AttentionText item={line[0]} others={line.length - 1} />
            </p>
            {onSeen && (
              <button
                type="button"
                className="min-h-6 cursor-pointer text-sm text-dim underline"
                onClick={() => onSeen(line)}
              >
                Mark as seen
              </button>
            )}
          </li>
        ))}
      </ul>
      {lines.length > MAX_SHOWN && (
        <p className="mt-2 text-sm text-dim">
          And {numberText(lines.slice(MAX_SHOWN).flat().length)} more: <code>svault account attention</code>
        </p>
      )}
    </>
  );
}
