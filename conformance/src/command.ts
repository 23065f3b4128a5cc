import { readFileSync } from 'node:fs';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { selectChecks, UnknownCheck } from './registry.ts';
import { textResult, textSummary } from './report/text.ts';
import { loadRequirements } from './requirements.ts';
import { conforms, runChecks } from './runner.ts';
import { parseAddress, parseBinding, TargetRefused, type WebhookToTest } from './target.ts';

/** No MUST failed · a MUST failed · the suite could not run as it was asked to. */
const EXIT = { conforms: 0, fails: 1, usage: 2 } as const;
const DEFAULT_TIMEOUT_SECONDS = 10;

export interface Io {
  out(text: string): void;
  err(text: string): void;
}

interface Flags {
  readonly webhookUrl?: string;
  readonly webhookId?: string;
  readonly serviceUrl?: string;
  readonly keyId?: string;
  readonly secret?: string;
  readonly secretFile?: string;
  readonly timeout: number;
  readonly only: readonly string[];
  readonly list?: true;
}

/** The command line. @returns the exit code: 0 conforms, 1 a MUST failed, 2 usage */
export async function main(args: readonly string[], io: Io): Promise<number> {
  const program = commandLine(io);
  try {
    program.parse(args, { from: 'user' });
    const flags = program.opts<Flags>();
    const checks = selectChecks(flags.only);
    const requirements = loadRequirements();
    if (flags.list) {
      for (const { id, title, requirements: ids } of checks) io.out(`${id}\t${ids.join(' ')}\t${title}`);
      return EXIT.conforms;
    }
    const webhook = webhookOf(flags);
    const results = await runChecks({
      webhook,
      checks,
      requirements,
      onResult: (result) => io.out(textResult(result)),
    });
    io.out(textSummary(results));
    return conforms(results) ? EXIT.conforms : EXIT.fails;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.conforms : EXIT.usage;
    if (!(error instanceof TargetRefused || error instanceof UnknownCheck)) throw error;
    io.err(`error: ${error.message}`);
    return EXIT.usage;
  }
}

function commandLine(io: Io): Command {
  const seconds = (text: string): number => {
    const value = Number(text);
    if (!(value > 0 && value <= 600)) throw new InvalidArgumentError('1 to 600 seconds');
    return value;
  };
  return new Command('svault-conformance')
    .description('Checks a svault webhook against the webhook protocol, over HTTP alone.')
    .option('--webhook-url <url>', 'address of the webhook, as it is bound')
    .option('--webhook-id <id>', 'its id, as /v1/exchange answered it')
    .option('--service-url <url>', 'base URL of the service it is bound to')
    .option('--key-id <id>', 'id of the bound key')
    .option('--secret <base64url>', 'the bound key; --secret-file keeps it out of the process list')
    .option('--secret-file <path>', 'file with the bound key')
    .option('--timeout <seconds>', 'how long one answer may take', seconds, DEFAULT_TIMEOUT_SECONDS)
    .option('--only <name...>', 'checks or areas to run, such as ticket.single-use or ticket', [])
    .option('--list', 'print the checks and end')
    .helpOption('-h, --help', 'print this and end')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => io.err(text.trimEnd()),
    });
}

function webhookOf(flags: Flags): WebhookToTest {
  const { webhookUrl, webhookId, serviceUrl, keyId, secretFile, timeout } = flags;
  const given = { webhookUrl, webhookId, serviceUrl, keyId, secret: flags.secret ?? readSecret(secretFile) };
  const missing = Object.entries(given).filter(([, value]) => value === undefined);
  if (missing.length > 0)
    throw new TargetRefused(`missing: ${missing.map(([name]) => flagOf(name)).join(', ')}`);
  const all = given as Required<{ [Name in keyof typeof given]: string }>;
  return { address: parseAddress({ ...all, timeoutMs: timeout * 1000 }), binding: parseBinding(all) };
}

const flagOf = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function readSecret(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new TargetRefused(`cannot read ${path}`, { cause: error });
  }
}
