import { type Row, columns, shown, spreadOf } from './report.ts';

type Change = 'better' | 'worse' | 'within the spread' | 'no spread known' | 'new';

/**
 * Whether a row changed by more than chance explains: every round of one run lies beyond every round of the other.
 * @param before the row of the same name in an earlier run, if it had one
 */
export function changeOf(before: Row | undefined, after: Row): Change {
  if (before === undefined) return 'new';
  const { rounds: was = [] } = before;
  const { rounds: is = [], target } = after;
  if (was.length < 2 || is.length < 2) return 'no spread known';
  const [earlier, now] = [spreadOf(was), spreadOf(is)];
  if (earlier.least <= now.most && now.least <= earlier.most) return 'within the spread';
  return now.least > earlier.most === (target.better === 'more') ? 'better' : 'worse';
}

/** For each row of a run: what it was in an earlier one, what it is, and whether it changed. */
export function comparison(before: readonly Row[], after: readonly Row[]): string {
  const earlier = new Map(before.map((row) => [row.name, row]));
  return columns([
    ['what', 'before', 'now', '', 'change'],
    ...after.map((row) => {
      const was = earlier.get(row.name);
      const times = was === undefined ? '' : `${(row.value / was.value).toFixed(2)} times`;
      return [row.name, was === undefined ? '' : shown(was), shown(row), times, changeOf(was, row)];
    }),
  ]);
}
