import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exitCodeTable } from '../src/failure.ts';
import { type CommandLine, commandLine } from './command-line.ts';
import { programToLookAt } from './program.ts';

let person: CommandLine;
beforeAll(() => {
  person = commandLine();
});
afterAll(() => person.remove());

const program = programToLookAt();

interface Page {
  readonly words: readonly string[];
  readonly command: Command;
}

const pagesOf = (command: Command, words: readonly string[] = []): readonly Page[] => [
  { words, command },
  ...command.commands.flatMap((each) => pagesOf(each, [...words, each.name()])),
];
const PAGES = pagesOf(program).map((page) => [['svault', ...page.words].join(' '), page] as const);

describe.each(PAGES)('%s --help', (_, { words, command }) => {
  test('says what it does, each alias, operand and flag, what all commands take, and the exit codes', async () => {
    const { code, out, err } = await person.svault([...words, '--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.trimEnd().endsWith(exitCodeTable())).toBe(true);
    for (const text of [...command.aliases(), '--format <format>', '--dry-run']) expect(out).toContain(text);
    expect(command.description()).not.toBe('');
    for (const { description, argChoices } of [...command.options, ...command.registeredArguments])
      expect(description !== '' || argChoices !== undefined, out).toBe(true);
  });
});
