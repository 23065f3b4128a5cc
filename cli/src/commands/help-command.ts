import { Command } from 'commander';

/** `help`, for who types that first: the same as `--help` behind a command. */
export const helpCommand = (program: Command): Command =>
  new Command('help')
    .description('print what svault does, or what a command of it does')
    .argument('[command...]', 'its words, such as tokens get')
    .action((words: readonly string[]) => commandAt(program, words).help());

/** @throws CommanderError where a word is no command */
function commandAt(from: Command, [word, ...others]: readonly string[]): Command {
  if (word === undefined) return from;
  const next = from.commands.find((each) => each.name() === word || each.aliases().includes(word));
  return next === undefined ? from.error(`error: unknown command '${word}'`) : commandAt(next, others);
}
