import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Interrupted } from '../interrupted.ts';
import type { Invocation } from '../invocation.ts';
import { plainLine } from '../output/plain-line.ts';

/**
 * Asks a person for a line; what they type is shown, on stderr as the question is. Only for where somebody sits there.
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
  try {
    return await new Promise<string>((resolve, reject) => {
      const give = (): void => {
        terminal.err('\n');
        reject(new Interrupted());
      };
      lines.once('SIGINT', give).once('close', give);
      signal.addEventListener('abort', give, { once: true });
      lines.question(`${plainLine(question)} `, resolve);
    });
  } finally {
    lines.removeAllListeners('close');
    lines.close();
  }
}
