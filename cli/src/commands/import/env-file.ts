import { parseEnv } from 'node:util';
import { type Parsed, parsedFrom } from './finding.ts';
import { linesIn } from './lines.ts';
import { settingFinding } from './plain-finding.ts';

/**
 * The secrets of a `.env` file. Node reads its syntax: quotes, several lines, `export`, comments; nothing is expanded.
 * @param folder the name of that of the project
 */
export function inEnvFile(text: string, folder: string): Parsed {
  const lines = linesOfNames(text);
  return parsedFrom(
    Object.entries(parseEnv(text)).map(([name, value = '']) =>
      settingFinding(name, { line: lines.get(name) ?? 1, place: name, called: `${folder}-${name}`, value }),
    ),
  );
}

/** Where each name is set last, which is where its value comes from. */
function linesOfNames(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  for (const [index, line] of linesIn(text).entries()) {
    const [, name] = /^\s*(?:export\s+)?([^\s=#]+)\s*=/.exec(line) ?? [];
    if (name !== undefined) lines.set(name, index + 1);
  }
  return lines;
}
