/** A name as one word of a command, and as a member of JSON: empty where it has no such characters. */
export const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');

/** Under which VS Code keeps a key: one for each agent and proxy, since the programs of a folder share them. */
export function keyInput(name: string): string {
  const codes = Array.from(name.slice(0, 8), (character) => character.codePointAt(0)?.toString(16));
  return ['svault', slugOf(name) || codes.join('-')].filter((part) => part !== '').join('-');
}
