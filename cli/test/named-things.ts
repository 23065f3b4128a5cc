import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { createProgram } from '../src/program.ts';
import { seat } from './command-line.ts';

const PROGRAM = createProgram({ ...seat(), env: {}, signal: new AbortController().signal });

/** `svault ls` names a command; “no svault answers” and “svault is” name the product. */
const COMMAND =
  /(?<!\b(?:no|an?|as|of|is|by|in|the|this|that|than) |--[\w-]+ )(?<![\w@/.-])svault (?!(?:answers|backup|control|control-plane|demo|does|has|is|key|on|runs)\b)((?:--)?[a-z][^;:,.()`'"“”’|&<\\\n]*)/g;
const SETTING = /\bSV_[A-Z_]+\b/g;

/** Names that one of the two programs reads. */
const SETTINGS: ReadonlySet<string> = new Set(
  readFileSync(new URL('../../server-kit/src/setting-names.ts', import.meta.url), 'utf8').match(SETTING),
);

/** The commands of svault that a text names, each with its words and flags. */
export function commandsIn(text: string): readonly string[] {
  return [...text.matchAll(COMMAND)].map(([, words = '']) => words.trim());
}

/** What a text names of this client and of the programs' settings that does not exist. */
export function unknownThings(text: string): readonly string[] {
  const commands = commandsIn(text).flatMap((words) => problemsOf(words.split(/\s+/)));
  const settings = [...text.matchAll(SETTING)]
    .map(([name]) => name)
    .filter((name) => !name.endsWith('_') && !isSetting(name))
    .map((name) => `setting ${name}`);
  return [...commands, ...settings];
}

const isSetting = (name: string): boolean =>
  SETTINGS.has(name) || SETTINGS.has(name.replace(/_FILE$/, '')) || name.startsWith('SV_LIMIT_');

function problemsOf(words: readonly string[]): readonly string[] {
  let command: Command = PROGRAM;
  let at = 0;
  for (; at < words.length && command.commands.length > 0; at += 1) {
    const word = words[at] ?? '';
    if (word.startsWith('-')) break;
    const next = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
    if (next === undefined) {
      // A group by itself, as in “svault tokens and svault agents”, is one that exists.
      if (command === PROGRAM) return [`command svault ${word}`];
      break;
    }
    command = next;
  }
  return words
    .slice(at)
    .filter((word) => /^--[a-z]/.test(word))
    .map((word) => word.replace(/[=’”].*$/, ''))
    .filter((flag) => !hasFlag(command, flag))
    .map((flag) => `flag ${flag} of ${command.name()}`);
}

/** A group runs its default command, as in `svault audit --follow`. */
function hasFlag(command: Command, flag: string): boolean {
  if (flag === '--help') return true;
  const holders = [command, ...command.commands, ...ancestorsOf(command)];
  return holders.some(({ options }) => options.some(({ flags }) => flags.split(/[ ,]+/).includes(flag)));
}

const ancestorsOf = ({ parent }: Command): readonly Command[] =>
  parent === null ? [] : [parent, ...ancestorsOf(parent)];
