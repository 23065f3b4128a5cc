import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { Interrupted, usage } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { plainLine } from '../output/plain-line.ts';

type Keyboard = Readable & { setRawMode(raw: boolean): unknown };

/** No secret is longer; who pastes more has pasted something else. */
const MAX_CHARACTERS = 64 * 1_024;

/**
 * Asks a person for a secret, without showing it. Pasted text may have several lines.
 * @throws Failure usage without a terminal; interrupted for Ctrl-C
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
    // Resumed by hand: the prompt before it, if there was one, has paused it.
    keyboard.on('data', onData).once('end', giveUp).resume();
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

/** What was typed so far where nothing of it is shown. */
export interface HiddenLine {
  readonly text: string;
  /** Inside what the terminal says was pasted: a line break there is part of it. */
  readonly pasting: boolean;
  /** The beginning of a control sequence whose end has not come yet. */
  readonly rest: string;
  readonly end?: 'entered' | 'interrupted' | 'several lines';
}

export const NOTHING_TYPED: HiddenLine = { text: '', pasting: false, rest: '' };

/** Bracketed paste (xterm): the terminal says where what was pasted begins and ends. */
const TELL_PASTES = '\u001b[?2004h';
const TELL_NO_PASTES = '\u001b[?2004l';
const PASTE_BEGINS = '\u001b[200~';
const PASTE_ENDS = '\u001b[201~';

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const CTRL_U = '\u0015';
const CTRL_W = '\u0017';

/**
 * A control sequence (ECMA-48), such as an arrow key’s; or one character, with the Escape before it. What began as a sequence
 * and goes on as none does not take a control character with it, so that Ctrl-C always counts.
 */
const PIECE =
  // oxlint-disable-next-line no-control-regex
  /\u001b\[[0-?]*[ -/]*(?:[@-~]|(?<=[ -/])[0-?]|(?=[^ -~]))|\u001bO(?:[ -~]|(?=[^ -~]))|\u001b(?:[^[O\p{Cc}]|(?=\p{Cc}))|\r\n|[^\u001b]/suy;

/** Goes on with what a terminal in raw mode sent; a pure function. */
export function typedOn(line: HiddenLine, sent: string): HiddenLine {
  const all = line.rest + sent;
  let next: HiddenLine = { ...line, rest: '' };
  PIECE.lastIndex = 0;
  for (let at = 0; at < all.length; at = PIECE.lastIndex) {
    const [piece] = PIECE.exec(all) ?? [];
    if (piece === undefined) return { ...next, rest: all.slice(at) };
    next = next.pasting ? pasted(next, piece) : typed(next, piece);
    if (next.end === 'entered' && PIECE.lastIndex < all.length)
      return { ...next, text: '', end: 'several lines' };
    if (next.end !== undefined) return next;
  }
  return next;
}

function typed(line: HiddenLine, piece: string): HiddenLine {
  const { text } = line;
  switch (piece) {
    case '\r':
    case '\n':
    case '\r\n':
      return { ...line, end: 'entered' };
    case CTRL_C:
      return { ...line, text: '', end: 'interrupted' };
    case CTRL_D:
      return { ...line, end: text === '' ? 'interrupted' : 'entered' };
    case '\u007f':
    case '\b':
      return { ...line, text: [...text].slice(0, -1).join('') };
    // Nobody sees where a word begins.
    case CTRL_U:
    case CTRL_W:
      return { ...line, text: '' };
    case PASTE_BEGINS:
      return { ...line, pasting: true };
    default:
      return isShown(piece) ? { ...line, text: text + piece } : line;
  }
}

function pasted(line: HiddenLine, piece: string): HiddenLine {
  if (piece === PASTE_ENDS) return { ...line, text: line.text.replace(/\n$/, ''), pasting: false };
  if (piece === CTRL_C) return { ...line, text: '', end: 'interrupted' };
  // Terminals send a line break as what its key sends.
  if (piece === '\r' || piece === '\r\n') return { ...line, text: `${line.text}\n` };
  return { ...line, text: line.text + piece };
}

const isShown = (piece: string): boolean => piece === '\t' || !/^\p{Cc}/u.test(piece);
