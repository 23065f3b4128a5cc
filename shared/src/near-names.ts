/** How many names are suggested. */
const MOST = 3;

/**
 * The names that a mistyped one may have meant: one of the two begins with the other, or they differ by few edits. Letter case
 * does not count. Of each text the first 64 characters are compared, so that the cost of each name is bounded.
 *
 * @returns the nearest, three at most; several are equally near
 */
export function nearNames(wanted: string, names: Iterable<string>): readonly string[] {
  const typed = comparable(wanted);
  const most = Math.min(3, Math.floor(typed.length / 3));
  const byEdits: string[][] = [];
  for (const name of names) {
    const edits = editsBetween(typed, comparable(name), most);
    if (edits !== undefined) (byEdits[edits] ??= []).push(name);
  }
  return (byEdits.find((near) => near !== undefined) ?? []).toSorted().slice(0, MOST);
}

/** ` Did you mean …?` behind a sentence; empty where no name is near. */
export function didYouMean(wanted: string, names: Iterable<string>): string {
  const near = nearNames(wanted, names).map((name) => `\`${name}\``);
  return near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`;
}

const COMPARED = 64;
const comparable = (text: string): string => text.slice(0, COMPARED).toLowerCase();

/** A prefix that is shorter begins too many names. */
const MIN_PREFIX = 3;

/**
 * Optimal string alignment distance: insertions, deletions, replacements, and neighbours swapped.
 *
 * @returns undefined for more than `most`, unless one begins with the other
 */
function editsBetween(a: string, b: string, most: number): number | undefined {
  const shorter = Math.min(a.length, b.length);
  if (shorter >= MIN_PREFIX && (a.startsWith(b) || b.startsWith(a))) return 0;
  if (Math.abs(a.length - b.length) > most) return undefined;
  let [beforeLast, last]: [readonly number[], number[]] = [
    [],
    Array.from({ length: b.length + 1 }, (_, j) => j),
  ];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? (beforeLast[j - 2] ?? 0) + 1 : Infinity;
      row.push(Math.min(replaced, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, swapped));
    }
    if (Math.min(...row, ...last) > most) return undefined;
    [beforeLast, last] = [last, row];
  }
  const edits = last[b.length] ?? 0;
  return edits <= most ? edits : undefined;
}
