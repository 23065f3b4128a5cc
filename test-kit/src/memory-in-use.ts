import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes that are really held in this process's heap and buffers: what nobody needs any more is collected first. */
export function memoryInUse(): number {
  collectGarbage();
  // V8 frees buffers beside the program, and a collection waits for what the one before it left to be freed.
  collectGarbage();
  const { heapUsed, arrayBuffers, external } = process.memoryUsage();
  return heapUsed + arrayBuffers + external;
}
