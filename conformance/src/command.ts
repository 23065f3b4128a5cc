import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { signCommand, vectorsCommand, verifyCommand, type DebugFlags } from './command/debug.ts';
import { EXIT, UsageRefused, type Io } from './command/io.ts';
import { runCommand, type RunFlags } from './command/run.ts';
import { ticketCommand, type TicketFlags } from './command/ticket.ts';
import { UnknownCheck } from './registry.ts';
import { FORMATS } from './report/formats.ts';
import { UpstreamUnavailable } from './runner.ts';
import { TargetRefused } from './target.ts';
import { version } from './version.ts';

const DEFAULT_TIMEOUT_SECONDS = 10;

/**
 * The command line.
 * @returns the exit code: 0 conforms, or only fails where the baseline says so; 1 does not; 2 could not run as it was
 *   asked to; 130 interrupted
 */
export async function main(args: readonly string[], io: Io): Promise<number> {
  let code: number = EXIT.ok;
  const program = commandLine(io, (exit) => {
    code = exit;
  });
  try {
    // `run` may be said, or not: it is what the program does.
    await program.parseAsync(args[0] === 'run' ? args.slice(1) : args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const isRefusal = [UsageRefused, TargetRefused, UnknownCheck, UpstreamUnavailable].some(
      (refusal) => error instanceof refusal,
    );
    if (!isRefusal) throw error;
    io.err(`error: ${(error as Error).message}`);
    return EXIT.usage;
  }
}

function commandLine(io: Io, exit: (code: number) => void): Command {
  const program = new Command('svault-conformance')
    .description('Checks a svault webhook against the webhook protocol, over HTTP alone.')
    .version(version, '--version', 'show the version and exit')
    .helpOption('-h, --help', 'show help and exit')
    // Flags of the subcommands are called as some of the program's.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => io.err(text.trimEnd()),
    });
  addRunFlags(program).action(async (flags: RunFlags) => exit(await runCommand(flags, io)));
  program
    .command('vectors')
    .description('print the frozen vectors: all, a set, or those of a name')
    .argument('[name]')
    .action((name: string | undefined) => exit(vectorsCommand(name, io)));
  addDebugFlags(program.command('sign'))
    .description('show how a request in a file is signed, and the headers to add')
    .option('--nonce <nonce>', 'instead of a random one')
    .option('--message', 'print the signed request and nothing else')
    .action(async (file: string, flags: DebugFlags) => exit(await signCommand(file, flags, io)));
  addDebugFlags(program.command('verify'))
    .description('show how a signed request in a file is verified, step by step, and what refuses it')
    .action(async (file: string, flags: DebugFlags) => exit(await verifyCommand(file, flags, io)));
  addBoundFlags(addTicketFlags(program.command('ticket')))
    .description('issue a ticket by hand: the ticket on stdout, its claims on stderr')
    .action(async (flags: TicketFlags) => exit(await ticketCommand({ ...flags, timeout: 0 }, io)));
  for (const command of program.commands) command.exitOverride().copyInheritedSettings(program);
  return program;
}

const several = (value: string, before: readonly string[]): readonly string[] => [...before, value];

function addTicketFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--op <op>', 'what it is for')
        .choices(['credential', 'store', 'proxy'])
        .makeOptionMandatory(),
    )
    .requiredOption('--svc <name>', 'service name of the record')
    .option(
      '--claim <name=value>',
      'set a claim, as JSON or text; empty leaves it out; may be repeated',
      several,
      [],
    );
}

function addRunFlags(program: Command): Command {
  const invited = program
    .optionsGroup('Which webhook:')
    .option(
      '--bind-link <url>',
      'the registration link (…/vault/webhook-bind?code=…) that its bind page or its command ends with; - reads it from stdin',
    )
    .option('--code <uuid>', 'the binding code, with --hmac-hash, --webhook-url and --service-url')
    .option('--hmac-hash <hex>', 'SHA-256 of the key that the exchange will answer')
    .option(
      '--save-binding <file>',
      'keep the binding, so that one is enough for many runs; replaces no file',
    );
  return addBoundFlags(invited)
    .optionsGroup('How the webhook reaches the suite:')
    .option('--upstream-url <url>', 'base URL by which it calls the suite’s own server')
    .option('--upstream-listen <host:port>', 'where that server listens; by default a free port of loopback')
    .optionsGroup('What runs:')
    .option('--only <names...>', 'checks or areas, such as ticket.single-use or ticket', [])
    .option('--skip <names>', 'checks or areas that do not run; may be repeated', several, [])
    .option('--fast', 'of each requirement one check, and none that waits: under ten seconds')
    .option(
      '--restart <command>',
      'also restart the webhook, by a shell command that kills it and starts it again',
    )
    .option(
      '--approver-link <url>',
      'also decide as an approver, who is enrolled by this link; - reads it from stdin',
    )
    .option('--list', 'list the checks and exit')
    .option('--timeout <seconds>', 'how long one answer may take', seconds, DEFAULT_TIMEOUT_SECONDS)
    .option('--replace-key', 'also replace a key that was bound before; it ends in ten minutes then')
    .optionsGroup('What comes out:')
    .option('--baseline <file>', 'list of checks that are expected to fail')
    .addOption(new Option('--format <format>', 'of stdout').choices([...FORMATS]).default('text'))
    .option(
      '--report <file>',
      'also a file: .txt, .json, .xml (JUnit) or .html; may be repeated',
      several,
      [],
    )
    .option('--badge <file>', 'also an SVG for a README, after a whole run')
    .option(
      '--log <file>',
      'also every request and answer, as JSON lines to compare two runs by; the secrets of the run are in it',
    )
    .option('--verbose', 'a line for each check, those that passed too')
    .option('--no-color', 'no colours, as with NO_COLOR');
}

/** Which webhook, where it is bound. */
function addBoundFlags(command: Command): Command {
  return command
    .option('--binding <file>', 'the binding that --save-binding kept')
    .option('--secret <base64url>', 'the bound key; --secret-file keeps it out of the process list')
    .option('--secret-file <file>', 'file with the bound key')
    .option('--key-id <id>', 'id of the bound key')
    .option('--webhook-id <id>', 'id of the webhook, as /v1/exchange answered it')
    .option('--webhook-url <url>', 'address of the webhook, as it is bound')
    .option('--service-url <url>', 'base URL of the service that the webhook is configured for');
}

function addDebugFlags(command: Command): Command {
  return command
    .argument('<file>', 'request line, headers, an empty line, the body; - reads stdin')
    .option('--secret <text>', 'the key: base64url or hex, or the code of a binding')
    .option('--secret-file <file>', 'file with the key')
    .requiredOption('--key-id <id>', 'id of the key; bind for a code')
    .requiredOption('--webhook-url <url>', 'address of the webhook, as it is bound')
    .option('--at <time>', 'the webhook’s clock, such as 2026-01-01T00:00:00Z; now where it is absent');
}

const MAX_TIMEOUT_SECONDS = 600;

function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= MAX_TIMEOUT_SECONDS))
    throw new InvalidArgumentError(`more than 0 and at most ${MAX_TIMEOUT_SECONDS} seconds.`);
  return value;
}
