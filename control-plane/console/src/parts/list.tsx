import type { UseQueryResult } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Failure } from './failure.tsx';

/** Marks the field of a screen to which `/` leads. */
const SEARCH_FIELD = { 'data-search': '' } as const;

/** Marks the link of a line of a list, between which `j` and `k` move. */
export const ROW_LINK = { 'data-row': '' } as const;

/** One page of a list, as the API sends it. */
interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | null | undefined;
}

/**
 * A list whose pages the server makes, with the way through them. The page before is where the browser's back button leads.
 *
 * @param props.name of the list in the plural, as in "Pages of agents"
 * @param props.empty one sentence and one command
 * @param props.row the content of a line; its main link has `ROW_LINK`
 * @param props.cursorName member of the address that holds the page
 * @param props.plain within a card, instead of being one
 * @param props.columns headings, each aligned by the grid of `rowClass`; not shown on a narrow screen
 */
export function List<Item>(props: {
  readonly name: string;
  readonly query: Pick<UseQueryResult<Page<Item>>, 'data' | 'error' | 'refetch' | 'isPlaceholderData'>;
  readonly empty: ReactNode;
  readonly row: (item: Item) => ReactNode;
  readonly rowKey: (item: Item) => string | number;
  readonly rowClass: string;
  readonly columns: readonly string[];
  readonly cursorName?: string;
  readonly plain?: boolean;
}) {
  const { name, query, empty, row, rowKey, rowClass, columns, cursorName = 'cursor', plain } = props;
  const { data, error, refetch, isPlaceholderData } = query;
  if (error) return <Failure error={error} reset={() => void refetch()} />;
  if (data === undefined) return <p className="mt-4 text-dim">Loading…</p>;
  return (
    <>
      {data.items.length === 0 ? (
        <div className="mt-4">{empty}</div>
      ) : (
        <div className={plain ? 'mt-2' : 'card mt-4 py-0'}>
          <div
            aria-hidden="true"
            className={`hidden border-b border-line py-2 text-sm text-dim sm:grid ${rowClass}`}
          >
            {columns.map((column) => (
              <span key={column}>{column}</span>
            ))}
          </div>
          <ul aria-busy={isPlaceholderData} aria-label={name} className="divide-y divide-line">
            {data.items.map((item) => (
              <li key={rowKey(item)} className={`grid py-2.5 ${rowClass}`}>
                {row(item)}
              </li>
            ))}
          </ul>
        </div>
      )}
      <PageLinks name={name} cursorName={cursorName} next={data.nextCursor} />
    </>
  );
}

/** The way through the pages of a list. */
export function PageLinks(props: {
  readonly name: string;
  readonly cursorName: string;
  readonly next: string | null | undefined;
}) {
  const { name, cursorName, next } = props;
  const search: Record<string, unknown> = useSearch({ strict: false });
  const onLater = search[cursorName] !== undefined;
  if (!onLater && !next) return null;
  const at = (cursor: string | undefined) => ({ ...search, [cursorName]: cursor });
  return (
    <nav aria-label={`Pages of ${name}`} className="mt-3 flex gap-4">
      {onLater && (
        <Link to="." search={at(undefined)}>
          First page
        </Link>
      )}
      {next && (
        <Link to="." search={at(next)}>
          Next page
        </Link>
      )}
    </nav>
  );
}

/** Puts a filter into the address; a filter that is empty leaves it. The list starts at its first page again. */
export function useFilter(): (name: string, value: string) => void {
  const navigate = useNavigate();
  return (name, value) =>
    void navigate({
      to: '.',
      search: (before: Record<string, unknown>) => ({
        ...before,
        [name]: value === '' ? undefined : value,
        cursor: undefined,
      }),
      replace: true,
    });
}

const filterOf = (search: Record<string, unknown>, name: string): string => {
  const value = search[name];
  return typeof value === 'string' ? value : '';
};

const FILTER = 'rounded-md border border-dim bg-paper px-2 py-1.5';

/** A filter that is one of several values. */
export function SelectFilter(props: {
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string, text: string])[];
}) {
  const { name, label, options } = props;
  const filter = useFilter();
  const search: Record<string, unknown> = useSearch({ strict: false });
  return (
    <label className="flex items-center gap-2 text-sm">
      {label}
      <select
        value={filterOf(search, name)}
        onChange={({ target }) => filter(name, target.value)}
        className={FILTER}
      >
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

const TYPING_MS = 250;

/** A filter that is typed; `/` leads to it. It goes into the address when typing pauses. */
export function SearchFilter({ name, label }: { readonly name: string; readonly label: string }) {
  const filter = useFilter();
  const search: Record<string, unknown> = useSearch({ strict: false });
  const given = filterOf(search, name);
  const [text, setText] = useState(given);
  const sent = useRef(given);
  // The address also changes by the back button and by links.
  useEffect(() => {
    if (given === sent.current) return;
    sent.current = given;
    setText(given);
  }, [given]);
  useEffect(() => {
    if (text === sent.current) return undefined;
    const timer = setTimeout(() => {
      sent.current = text;
      filter(name, text);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  });
  return (
    <label className="flex items-center gap-2 text-sm">
      {label}
      <input
        {...SEARCH_FIELD}
        type="search"
        value={text}
        maxLength={200}
        onChange={({ target }) => setText(target.value)}
        className={`${FILTER} w-44`}
      />
    </label>
  );
}
