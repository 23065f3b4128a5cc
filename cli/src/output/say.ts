import type { Invocation } from '../invocation.ts';
import { plainLine } from './plain-line.ts';

/** What was done, for a person; on stderr, so that a pipe gets data alone. */
export const say = ({ terminal }: Pick<Invocation, 'terminal'>, text: string): void =>
  terminal.err(`${plainLine(text)}\n`);
