import type { Command } from 'commander';
import type { Failure, Issue } from '../failure.ts';
import { plainLine } from '../output/plain-line.ts';

/** The flag of an option as commander names it: `allowHost` is `--allow-host`. */
export const flagOf = (option: string): string => `--${wordsOf(option).join('-')}`;

const wordsOf = (member: string): readonly string[] =>
  member.split(/(?=[A-Z])|-/).map((word) => word.toLowerCase());

/** Says what a change changed. @param body of its request */
export const updatedText = (called: string, body: object): string =>
  `${called} is updated: ${Object.keys(body)
    .filter((member) => member !== 'allowMissing')
    .map((member) => wordsOf(member).join(' '))
    .join(', ')}`;

/**
 * A failure about members of a request in the words of the command line that they came from. Members that no flag or operand
 * of the command is called after keep their names, and so do those of a file.
 */
export function inFlags(failure: Failure, command: Command): Failure {
  const { issues } = failure;
  const said = issues.map((issue) => ({ issue, flag: flagFor(issue, command) }));
  if (said.every(({ flag }) => flag === undefined)) return failure;
  const lines = said.map(({ issue: { path, message }, flag }) => {
    const place = flag === undefined ? path : `\`${flag}\``;
    return /^(?:has|is|may|must|needs)\b/.test(message) ? `${place} ${message}` : `${place}: ${message}`;
  });
  return failure.saying(plainLine(lines.join('; ')));
}

function flagFor({ path }: Issue, command: Command): string | undefined {
  const [member = ''] = path.split('.');
  const isFromFile = command.getOptionValue('body') !== undefined;
  const flags = command.options
    .filter((option) => !isFromFile || command.getOptionValue(option.attributeName()) !== undefined)
    .flatMap(({ long }) => long ?? []);
  const names = [...command.registeredArguments.map((operand) => operand.name()), ...flags];
  const ranked = names
    .map((name) => ({ name, rank: likeness(stemsOf(member), stemsOf(name.replace(/^--/, ''))) }))
    .toSorted((one, other) => other.rank - one.rank);
  const [best] = ranked;
  if (best === undefined || best.rank === 0) return undefined;
  return best.name.startsWith('--') ? best.name : `<${best.name}>`;
}

/** `allowedHosts` is given by `--allow-host`. */
const stemsOf = (name: string): readonly string[] =>
  wordsOf(name).map((word) => word.replace(/(?:ed|s)$/, ''));

/** 3: the same words; 2: `--service` for `serviceName`; 1: `--type` for `tokenType`; 0: another thing. */
function likeness(member: readonly string[], name: readonly string[]): number {
  const isAt = (from: number): boolean => name.every((word, at) => member[from + at] === word);
  if (isAt(0)) return name.length === member.length ? 3 : 2;
  return isAt(member.length - name.length) ? 1 : 0;
}
