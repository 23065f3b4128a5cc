import { parseEnv } from 'node:util';
import type { Finding, Parsed } from './finding.ts';
import { judged } from './is-secret.ts';
import { linesIn } from './lines.ts';
import { plainFinding, svaultFinding } from './plain-finding.ts';

/**
 * The secrets of a `.env` file. Node reads its syntax: quotes, several lines, `export`, comments; nothing is expanded.
 * @param folder the name of that of the project
 */
export function inEnvFile(text: string, folder: string): Parsed {
  const lines = linesOfNames(text);
  const findings: Finding[] = [];
  let skipped = 0;
  for (const [name, value = ''] of Object.entries(parseEnv(text))) {
    const found = { line: lines.get(name) ?? 1, place: name, called: `${folder}-${name}` };
    const judgement = judged(name, value);
    if (judgement === 'other') skipped += 1;
    else findings.push(judgement === 'svault' ? svaultFinding(found) : plainFinding({ ...found, value }));
  }
  return { findings, skipped };
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
