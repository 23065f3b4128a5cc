/**
 * All ways to write a command, from one line of the specification's table ("Command-line client"): words with a bar have
 * aliases, and what stands behind a comma is a shortcut: `tokens|tk show|info, show`.
 */
export function spellings(line: string): readonly (readonly string[])[] {
  return line.split(', ').flatMap((each) =>
    each
      .split(' ')
      .map((word) => word.split('|'))
      .reduce<readonly (readonly string[])[]>(
        (before, names) => before.flatMap((words) => names.map((name) => [...words, name])),
        [[]],
      ),
  );
}
