import type { UseQueryResult } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { NotLoaded } from './failure.tsx';

/** Marks the field of a screen to which `/` leads. */
const SEARCH_FIELD = { 'data-search': '' } as const;

/** Marks the link of a line of a list, between which `j` and `k` move. */
export const ROW_LINK = { 'data-row': '' } as const;

/** One page of a list, as the API sends it. */
interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | null | undefined;
}

/** How a list looks: what follows is of each list, paged or not. */
interface Look<Item> {
  /** In the plural, as in "Pages of agents". */
  readonly name: string;
  /** One sentence and one command. */
  readonly empty: ReactNode;
  /** The content of a line; its main link has `ROW_LINK`. */
  readonly row: (item: Item) => ReactNode;
  readonly rowKey: (item: Item) => string | number;
  readonly rowClass: string;
  /** Headings, each aligned by the grid of `rowClass`; not shown on a narrow screen. */
  readonly columns: readonly string[];
  /** Within a card, instead of being one. */
  readonly plain?: boolean;
}

/**
 * A list whose pages the server makes, with the way through them. The page before is where the browser's back button leads.
 *
 * @param props.cursorName member of the address that holds the page
 */
export function List<Item>(
  props: Look<Item> & {
    readonly query: Pick<UseQueryResult<Page<Item>>, 'data' | 'error' | 'refetch' | 'isPlaceholderData'>;
    readonly cursorName?: string;
  },
) {
  const { query, cursorName = 'cursor', ...look } = props;
  const { data, isPlaceholderData } = query;
  if (data === undefined) return <NotLoaded query={query} className="mt-4" />;
  return (
    <>
      <Lines {...look} items={data.items} busy={isPlaceholderData} />
      <PageLinks name={look.name} cursorName={cursorName} next={data.nextCursor} />
    </>
  );
}

/** The lines of a list. */
export function Lines<Item>(
  props: Look<Item> & { readonly items: readonly Item[]; readonly busy?: boolean },
) {
  const { name, items, busy = false, empty, row, rowKey, rowClass, columns, plain } = props;
  if (items.length === 0) return <div className="mt-4">{empty}</div>;
  return (
    <div className={plain ? 'mt-2' : 'card mt-4 py-0'}>
      <div
        aria-hidden="true"
        className={`hidden border-b border-line py-2 text-sm text-dim sm:grid ${rowClass}`}
      >
        {columns.map((column) => (
          <span key={column}>{column}</span>
        ))}
      </div>
      <ul aria-busy={busy} aria-label={name} className="divide-y divide-line">
        {items.map((item) => (
          <li key={rowKey(item)} className={`grid py-2.5 ${rowClass}`}>
            {row(item)}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The way through the pages of a list. */
function PageLinks(props: {
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
  const filter = useFilters();
  return (name, value) => filter({ [name]: value });
}

/** The same of several filters at once. */
export function useFilters(): (values: Readonly<Record<string, string>>) => void {
  const navigate = useNavigate();
  return (values) => {
    const given = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, value || undefined]),
    );
    void navigate({
      to: '.',
      search: (before: Record<string, unknown>) => ({ ...before, ...given, cursor: undefined }),
      replace: true,
    });
  };
}

const filterOf = (search: Record<string, unknown>, name: string): string => {
  const value = search[name];
  return typeof value === 'string' ? value : '';
};

/** How a control of a filter looks. */
export const FILTER = 'rounded-md border border-dim bg-paper px-2 py-1.5';

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
export function SearchFilter(props: {
  readonly name: string;
  readonly label: string;
  /** What the browser offers while something is typed. */
  readonly options?: readonly string[];
}) {
  const { name, label, options } = props;
  const listId = useId();
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
        list={options && listId}
        className={`${FILTER} w-44`}
      />
      {options && (
        <datalist id={listId}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </label>
  );
}
