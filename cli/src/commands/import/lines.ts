/** Text in lines, whichever way they end. */
export const linesIn = (text: string): readonly string[] => text.split(/\r\n|\n|\r/);

/** The line of a place in a text, from 1. */
export const lineAt = (text: string, offset: number): number => linesIn(text.slice(0, offset)).length;

/** An entry of a file in the manner of `.ini`. */
export interface IniEntry {
  /** '' before the first section. */
  readonly section: string;
  readonly key: string;
  readonly value: string;
  /** From 1. */
  readonly line: number;
}

/**
 * The entries of `~/.aws/credentials` and `.npmrc`. Libraries for these formats say no lines; nested entries, which are
 * indented, hold no credentials. A comment begins a line or follows white space.
 */
export function iniEntries(text: string): readonly IniEntry[] {
  const entries: IniEntry[] = [];
  let section = '';
  for (const [index, line] of linesIn(text).entries()) {
    const [, heading] = /^\s*\[\s*([^\]]*?)\s*\]/.exec(line) ?? [];
    if (heading !== undefined) section = heading;
    const [, key, value = ''] = /^([^\s#;=[][^=]*?)\s*=(.*)$/.exec(line) ?? [];
    if (key === undefined) continue;
    const bare = value.replace(/\s[#;].*$/, '').trim();
    entries.push({ section, key, value: bare.replace(/^(["'])(.*)\1$/, '$2'), line: index + 1 });
  }
  return entries;
}
