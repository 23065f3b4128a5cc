import { Readable } from 'node:stream';
import { createProgram } from '../../cli/src/program.ts';
import { code, sentence, table } from './tables.ts';

type Command = ReturnType<typeof createProgram>;

/** Every command of `svault`, from its own declarations: usage, operands, options and examples. */
export function cliReference(): string {
  let help = '';
  const program = createProgram({
    terminal: {
      out: (text) => void (help += String(text)),
      written: () => Promise.resolve(),
      err: () => undefined,
      stdin: Readable.from([]),
      interactive: { in: false, out: false, err: false },
      columns: undefined,
    },
    env: { NO_COLOR: '1' },
    signal: new AbortController().signal,
  });
  const examplesOf = (command: Command): string => {
    help = '';
    command.outputHelp();
    return [...help.matchAll(/^ {2}\$ (.+)$/gm)].map(([, line]) => line).join('\n');
  };
  // Not those that only the completion of a shell calls.
  const shown = program
    .createHelp()
    .visibleCommands(program)
    .filter((each) => program.commands.includes(each));
  return shown.flatMap((command) => pagesOf(command, 'svault', examplesOf)).join('\n\n');
}

function pagesOf(command: Command, before: string, examplesOf: (command: Command) => string): string[] {
  const words = `${before} ${command.name()}`;
  const about = sentence(command.description());
  const aliases = command.aliases().length > 0 ? ` Also: ${command.aliases().map(code).join(', ')}.` : '';
  if (command.commands.length > 0)
    return [
      `### ${words}\n\n${about}${aliases}`,
      ...command.commands.flatMap((each) => pagesOf(each, words, examplesOf)),
    ];
  const operands = command.registeredArguments.map((each) => {
    const name = `${each.name()}${each.variadic ? '...' : ''}`;
    return each.required ? `<${name}>` : `[${name}]`;
  });
  const rows = [
    ...command.registeredArguments.map((each) => [code(each.name()), details(each.description, each)]),
    ...command
      .createHelp()
      .visibleOptions(command)
      .filter(({ long }) => long !== '--help')
      .map((option) => [code(option.flags), details(option.description, option)]),
  ];
  const examples = examplesOf(command);
  return [
    [
      `### ${words}\n\n${about}${aliases}`,
      `Usage: ${code([words, ...(rows.length > operands.length ? ['[options]'] : []), ...operands].join(' '))}`,
      ...(rows.length > 0 ? [table(['Operand or option', 'Meaning'], rows)] : []),
      ...(examples === '' ? [] : [`\`\`\`console\n${examples}\n\`\`\``]),
    ].join('\n\n'),
  ];
}

function details(
  description: string,
  { argChoices, defaultValue }: { readonly argChoices?: readonly string[]; readonly defaultValue?: unknown },
): string {
  const choices = argChoices === undefined ? '' : ` One of ${argChoices.map(code).join(', ')}.`;
  const fallback = typeof defaultValue === 'string' ? ` Default: ${code(defaultValue)}.` : '';
  return `${sentence(description)}${choices}${fallback}`;
}
