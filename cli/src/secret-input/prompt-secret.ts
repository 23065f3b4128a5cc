import { usage } from '../failure.ts';
import type { Invocation } from '../invocation.ts';

/** Asks a person for a secret, and shows nothing of what they type. */
export async function promptSecret(invocation: Invocation, question: string): Promise<string> {
  throw usage(`${question}: not built: ${Object.keys(invocation).length}`);
}
