import type { Invocation } from '../invocation.ts';
import { say } from '../output/say.ts';

/** Says that commands will not act with the login that was just chosen, where the environment says otherwise. */
export function sayWhatGoesBefore(invocation: Invocation, name: string): void {
  const { SVAULT_KEY: key, SVAULT_CONTEXT: chosen = '' } = invocation.env;
  if (key !== undefined) say(invocation, 'SVAULT_KEY is set: commands act with it until it is unset');
  else if (chosen !== '' && chosen !== name)
    say(invocation, `SVAULT_CONTEXT is set: commands act with ${chosen} until it is unset`);
}
