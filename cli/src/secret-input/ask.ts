import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Interrupted, usage } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { plainLine } from '../output/plain-line.ts';
import { say } from '../output/say.ts';

/**
 * Asks a person whether to go on; `--yes` answers for them, and so does `--dry-run`.
 * @throws Failure usage without a terminal; interrupted for no and for Ctrl-C
 */
export async function confirm(
  invocation: Invocation,
  question: string,
  { yes }: { readonly yes?: boolean | undefined },
): Promise<void> {
  if (yes === true || invocation.flags.dryRun === true) return;
  const shown = plainLine(question);
  const { interactive } = invocation.terminal;
  if (!interactive.in || !interactive.err)
    throw usage(`“${shown}” needs an answer, and there is no terminal to ask on: --yes`);
  const answer = await askLine(invocation, `${shown} [y/N]`);
  if (/^y(es)?$/i.test(answer.trim())) return;
  say(invocation, 'nothing was done');
  throw new Interrupted();
}

/** Asks a person whether to go on as is proposed: Enter means yes. Only on a terminal. @throws Failure interrupted */
export const agrees = async (invocation: Invocation, question: string): Promise<boolean> =>
  /^(y(es)?)?$/i.test((await askLine(invocation, `${question} [Y/n]`)).trim());

/**
 * Asks a person for a line; what they type is shown, on stderr as the question is. Only on a terminal.
 * @throws Failure interrupted for Ctrl-C, and for Ctrl-D or the end of the input
 */
export async function askLine({ terminal, signal }: Invocation, question: string): Promise<string> {
  const output = new Writable({
    write: (chunk: Buffer, _encoding, written) => {
      terminal.err(chunk.toString());
      written();
    },
  });
  const lines = createInterface({
    input: terminal.stdin,
    output,
    terminal: terminal.interactive.in,
    historySize: 0,
  });
  let give = (): void => undefined;
  try {
    return await new Promise<string>((resolve, reject) => {
      give = () => {
        terminal.err('\n');
        reject(new Interrupted());
      };
      lines.once('SIGINT', give).once('close', give);
      signal.addEventListener('abort', give, { once: true });
      lines.question(`${plainLine(question)} `, resolve);
    });
  } finally {
    // No other listener: by its own, readline stops showing what is typed, such as a secret that is asked for next.
    lines.off('close', give);
    signal.removeEventListener('abort', give);
    lines.close();
  }
}
