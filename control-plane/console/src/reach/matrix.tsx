import { useNavigate } from '@tanstack/react-router';
import {
  type VirtualItem,
  type Range as VirtualRange,
  type Virtualizer,
  defaultRangeExtractor,
  useVirtualizer,
} from '@tanstack/react-virtual';
import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Failure } from '../parts/failure.tsx';
import { CallerLink, CredentialLink } from './links.tsx';
import { type Position, moved } from './move.ts';
import { type Caller, cellText } from './queries.ts';
import { STATE_NAMES, StateMark } from './state-mark.tsx';
import type { Axis } from './use-axes.ts';
import { type Range, useStates } from './use-states.ts';

/** Height of a row and width of a column, in pixels. */
const SIZE = 32;
/** What the names take, to the left and above. */
const NAMES = { width: 208, height: 144 };
/** How near the end of what is loaded the next page is loaded. */
const AHEAD = 20;

/**
 * Who can reach what: a row of each agent and proxy, a column of each credential. Only what is shown is in the document, and
 * little more is loaded.
 */
export function Matrix(props: { readonly callers: Axis<Caller>; readonly credentials: Axis<string> }) {
  const { callers, credentials } = props;
  const grid = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<Position>({ row: 1, column: 1 });
  const rows = useAxisVirtualizer({ axis: callers, grid, horizontal: false, kept: active.row });
  const columns = useAxisVirtualizer({ axis: credentials, grid, horizontal: true, kept: active.column });
  const { stateAt, error } = useStates(callers.items, credentials.items, [rangeOf(rows), rangeOf(columns)]);
  const navigate = useNavigate({ from: '/reach' });

  /** Whether the focus belongs on the active cell, also when scrolling has taken away the one that had it. */
  const isFocused = useRef(false);
  const [isMarked, setMarked] = useState(false);
  useLayoutEffect(() => {
    if (!isFocused.current) return;
    const cell = grid.current?.querySelector<HTMLElement>(`[data-at="${active.row} ${active.column}"]`);
    if (cell !== document.activeElement) cell?.focus({ preventScroll: true });
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const size = { rows: callers.items.length, columns: credentials.items.length };
    const to = event.altKey || event.metaKey ? undefined : moved(active, event, size);
    if (to === undefined) return;
    event.preventDefault();
    isFocused.current = true;
    if (to.row > 0) rows.scrollToIndex(to.row - 1);
    if (to.column > 0) columns.scrollToIndex(to.column - 1);
    setActive(to);
  };
  /** Exactly one cell is in the order of Tab. */
  const focusable = (row: number, column: number) => ({
    'data-at': `${row} ${column}`,
    tabIndex: active.row === row && active.column === column ? 0 : -1,
    onFocus: () => {
      isFocused.current = true;
      setMarked(true);
      setActive({ row, column });
    },
  });
  const open = (row: number, column: number): void => {
    const [callerId = '', serviceName = ''] = [callers.items[row]?.id, credentials.items[column]];
    void navigate({ search: (before) => ({ ...before, cell: cellText({ callerId, serviceName }) }) });
  };
  const shownColumns = columns.getVirtualItems();
  return (
    <>
      {error && <Failure error={error} />}
      <div
        ref={grid}
        role="grid"
        aria-label="Who can reach what"
        aria-rowcount={callers.isWhole ? callers.items.length + 1 : -1}
        aria-colcount={credentials.isWhole ? credentials.items.length + 1 : -1}
        onKeyDown={onKeyDown}
        onBlur={() => {
          isFocused.current = false;
          setMarked(false);
        }}
        className="card relative isolate max-h-[70dvh] w-fit max-w-full overflow-auto p-0"
      >
        <div
          role="rowgroup"
          className="relative"
          style={{ width: NAMES.width + columns.getTotalSize(), height: NAMES.height + rows.getTotalSize() }}
        >
          <div
            role="row"
            aria-rowindex={1}
            className="sticky top-0 z-20 border-b border-line bg-paper"
            style={{ height: NAMES.height }}
          >
            <div
              role="columnheader"
              aria-colindex={1}
              className="sticky left-0 z-10 flex h-full items-end border-r border-line bg-paper px-3 pb-2 text-sm text-dim"
              style={{ width: NAMES.width }}
            >
              Agent or proxy
            </div>
            {shownColumns.map(({ index, start }) => (
              <div
                key={index}
                role="columnheader"
                aria-colindex={index + 2}
                className="absolute top-0 flex h-full items-end justify-center pb-2"
                style={{ left: NAMES.width + start, width: SIZE }}
              >
                <CredentialLink
                  vertical
                  name={credentials.items[index] ?? ''}
                  marked={isMarked && active.column === index + 1}
                  {...focusable(0, index + 1)}
                />
              </div>
            ))}
          </div>
          {rows.getVirtualItems().map(({ index: row, start: top }) => {
            const caller = callers.items[row];
            return (
              <div
                key={row}
                role="row"
                aria-rowindex={row + 2}
                className="group absolute left-0 w-full hover:bg-ground"
                style={{ top: NAMES.height + top, height: SIZE }}
              >
                <div
                  role="rowheader"
                  aria-colindex={1}
                  className="sticky left-0 z-10 flex h-full items-center border-r border-line bg-paper px-3 group-hover:bg-ground"
                  style={{ width: NAMES.width }}
                >
                  {caller && (
                    <CallerLink
                      caller={caller}
                      marked={isMarked && active.row === row + 1}
                      {...focusable(row + 1, 0)}
                    />
                  )}
                </div>
                {shownColumns.map(({ index: column, start }: VirtualItem) => {
                  const state = stateAt(row, column);
                  const name = state === undefined ? 'Loading' : STATE_NAMES[state];
                  return (
                    <div
                      key={column}
                      role="gridcell"
                      aria-colindex={column + 2}
                      aria-label={name}
                      title={`${caller?.name} → ${credentials.items[column]}: ${name}`}
                      {...focusable(row + 1, column + 1)}
                      onClick={() => open(row, column)}
                      onKeyDown={({ key }) => {
                        if (key === 'Enter') open(row, column);
                      }}
                      className="absolute top-0 flex h-full cursor-pointer items-center justify-center -outline-offset-3 hover:bg-line"
                      style={{ left: NAMES.width + start, width: SIZE }}
                    >
                      {state && <StateMark state={state} />}
                    </div>
                  );
                })}
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

type GridVirtualizer = Virtualizer<HTMLDivElement, Element>;

/** Of what is loaded of an axis; near its end it loads more. @param options.kept position that stays in the document */
function useAxisVirtualizer(options: {
  readonly axis: Axis<unknown>;
  readonly grid: React.RefObject<HTMLDivElement | null>;
  readonly horizontal: boolean;
  readonly kept: number;
}): GridVirtualizer {
  const { axis, grid, horizontal, kept } = options;
  const { length } = axis.items;
  const virtualizer = useVirtualizer<HTMLDivElement, Element>({
    count: length,
    horizontal,
    estimateSize: () => SIZE,
    getScrollElement: () => grid.current,
    overscan: 4,
    scrollPaddingEnd: horizontal ? NAMES.width : NAMES.height,
    rangeExtractor: (range: VirtualRange) => {
      const shown = defaultRangeExtractor(range);
      const index = kept - 1;
      if (index < 0 || index >= range.count || shown.includes(index)) return shown;
      return [...shown, index].toSorted((a, b) => a - b);
    },
  });
  const { range } = virtualizer;
  const { loadMore } = axis;
  const isNearEnd = range !== null && range.endIndex >= length - AHEAD;
  useEffect(() => {
    if (isNearEnd) loadMore();
  }, [isNearEnd, loadMore, length]);
  return virtualizer;
}

const rangeOf = ({ range }: GridVirtualizer): Range => [range?.startIndex ?? 0, range?.endIndex ?? 0];
