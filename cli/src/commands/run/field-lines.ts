/** Header lines in the form of Node's `rawHeaders`: name, value, name, value, … */
export type FieldLines = readonly string[];

/** Fields of a single connection (RFC 9110 section 7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** @param dropped further names, in lower case */
export function withoutHopByHop(lines: FieldLines, dropped: ReadonlySet<string> = new Set()): string[] {
  const pairs = pairsOf(lines);
  const named = new Set(
    pairs
      .filter(([name]) => name.toLowerCase() === 'connection')
      .flatMap(([, value]) => value.split(',').map((each) => each.trim().toLowerCase())),
  );
  return pairs
    .filter(([name]) => [HOP_BY_HOP, named, dropped].every((names) => !names.has(name.toLowerCase())))
    .flat();
}

/** Changes the values of some fields. @param names in lower case */
export const withValues = (
  lines: FieldLines,
  names: ReadonlySet<string>,
  change: (value: string) => string,
): string[] =>
  pairsOf(lines).flatMap(([name, value]) => [name, names.has(name.toLowerCase()) ? change(value) : value]);

const pairsOf = (lines: FieldLines): readonly (readonly [name: string, value: string])[] =>
  lines.flatMap((name, index) => (index % 2 === 0 ? [[name, lines[index + 1] ?? ''] as const] : []));
