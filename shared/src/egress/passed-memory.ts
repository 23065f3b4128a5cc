import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Handed on since the last collection; V8 by itself waits for 32 MB and more. */
const COLLECT_EACH_BYTES = 4 * 1024 * 1024;

let collect: ((options: { type: 'minor' }) => void) | undefined;
let passed = 0;

/**
 * Frees the pieces of answers that were handed on. They lie outside V8's heap, where little tells it of them: a large
 * answer that passes would leave tens of megabytes of them behind, in each program on its way.
 *
 * @param bytes that were handed on
 */
export function notePassed(bytes: number): void {
  passed += bytes;
  if (passed < COLLECT_EACH_BYTES) return;
  passed = 0;
  collect ??= exposedCollector();
  collect({ type: 'minor' });
}

function exposedCollector(): (options: { type: 'minor' }) => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as (options: { type: 'minor' }) => void;
}
