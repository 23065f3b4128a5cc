import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { usage } from '../failure.ts';
import { Interrupted } from '../interrupted.ts';
import type { Invocation } from '../invocation.ts';
import { plainLine } from '../output/plain-line.ts';
import { type HiddenLine, NOTHING_TYPED, TELL_NO_PASTES, TELL_PASTES, typedOn } from './hidden-line.ts';

type Keyboard = Readable & { setRawMode(raw: boolean): unknown };

/** No secret is longer; who pastes more has pasted something else. */
const MAX_CHARACTERS = 64 * 1_024;

/**
 * Asks a person for a secret, and shows nothing of what they type. What is pasted may have several lines.
 * @throws Failure usage where nobody can be asked; interrupted for Ctrl-C
 */
export async function promptSecret({ terminal, signal }: Invocation, question: string): Promise<string> {
  const { stdin, interactive, err } = terminal;
  const shown = plainLine(question);
  if (!interactive.in || !interactive.err || !isKeyboard(stdin))
    throw usage(`“${shown}” cannot be asked here: send it to stdin, or name a file`);
  // First this, and the question then: who answers quickly is not shown either.
  stdin.setRawMode(true);
  try {
    err(`${shown}: ${TELL_PASTES}`);
    return await typedSecret(stdin, signal);
  } finally {
    stdin.setRawMode(false);
    err(`${TELL_NO_PASTES}\n`);
  }
}

const isKeyboard = (stream: Readable): stream is Keyboard => 'setRawMode' in stream;

async function typedSecret(keyboard: Keyboard, signal: AbortSignal): Promise<string> {
  const decoder = new StringDecoder('utf8');
  let line: HiddenLine = NOTHING_TYPED;
  let stop = (): void => undefined;
  const end = await new Promise<HiddenLine['end']>((resolve) => {
    const onData = (chunk: Buffer): void => {
      line = typedOn(line, decoder.write(chunk));
      if (line.text.length > MAX_CHARACTERS || line.rest.length > MAX_CHARACTERS) resolve(undefined);
      if (line.end !== undefined) resolve(line.end);
    };
    const giveUp = (): void => resolve('interrupted');
    keyboard.on('data', onData).once('end', giveUp);
    signal.addEventListener('abort', giveUp, { once: true });
    stop = () => {
      keyboard.off('data', onData).off('end', giveUp).pause();
      signal.removeEventListener('abort', giveUp);
    };
  }).finally(stop);
  switch (end) {
    case 'interrupted':
      throw new Interrupted();
    case 'several lines':
      throw usage(
        'that were several lines, and this terminal does not tell what is pasted: name a file instead',
      );
    case undefined:
      throw usage('that is longer than 64 KiB');
    case 'entered':
      return line.text;
  }
}
