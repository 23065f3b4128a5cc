import { usage } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { say } from '../output/say.ts';
import { promptSecret } from './prompt-secret.ts';
import { readFileBounded, readStreamBounded } from './read-bounded.ts';

interface SecretSource {
  readonly question: string;
  /** `-`: stdin. */
  readonly file?: string | undefined;
  /** From the command line, with a warning. */
  readonly argument?: string | undefined;
}

/** Protocol 5.5, of one secret field. */
const MAX_BYTES = 64 * 1_024;
const MAX_LINE_BREAK_BYTES = 2;

/**
 * Reads a secret: from the file, else from stdin where that is no terminal, else by a prompt without echo. One line
 * break at the end of a file or of stdin is not part of it.
 * @throws Failure usage for none, two sources, or more than 64 KiB; interrupted for Ctrl-C at the prompt
 */
export async function readSecret(invocation: Invocation, source: SecretSource): Promise<string> {
  const { file, argument, question } = source;
  if (argument !== undefined && file !== undefined) throw usage('give the secret or a file, not both');
  if (argument !== undefined) return fromCommandLine(invocation, argument, question);
  if (file !== undefined && file !== '-')
    return textOf(await readFileBounded(file, MAX_BYTES + MAX_LINE_BREAK_BYTES), file, question);
  if (invocation.terminal.interactive.in)
    return checked(await promptSecret(invocation, question), 'the prompt', question);
  const limit = MAX_BYTES + MAX_LINE_BREAK_BYTES;
  return textOf(
    await readStreamBounded(invocation.terminal.stdin, limit, invocation.signal),
    'stdin',
    question,
  );
}

function fromCommandLine(invocation: Invocation, argument: string, question: string): string {
  say(
    invocation,
    'warning: other users of this machine can see a secret on the command line, and your shell keeps it; stdin, a file or the prompt keeps it to yourself',
  );
  return checked(argument, 'the command line', question);
}

/** @throws Failure usage for what is no text: it would not be the same when it is delivered */
function textOf(bytes: Uint8Array, from: string, question: string): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw usage(`the secret of ${from} is not UTF-8 text; encode it in base64 first`);
  }
  return checked(text.replace(/\r?\n$/, ''), from, question);
}

function checked(text: string, from: string, question: string): string {
  if (text === '') throw usage(`${question} is empty: nothing came from ${from}`);
  if (Buffer.byteLength(text) > MAX_BYTES) throw usage(`the secret of ${from} is longer than 64 KiB`);
  return text;
}
