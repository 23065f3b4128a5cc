import { sha256, toBase64url, utf8 } from '@svault/shared';
import type { OwnedCounter } from './tally.ts';

/** Ids and addresses are shorter; what a caller makes up, such as a client id, may be as long as a header. */
const MAX_KEY_CHARACTERS = 120;

/**
 * What a counter is kept under within its account; a rule whose window is changed counts anew. Of bounded length, so that
 * a bound on entries is one on memory.
 */
export function counterName({ scope, windowMs, key }: OwnedCounter): string {
  const short = key.length <= MAX_KEY_CHARACTERS ? key : `#${toBase64url(sha256(utf8(key)))}`;
  return `${scope}:${windowMs}:${short}`;
}
