import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes in use in this process's heap and buffers, after garbage collection. */
export function memoryInUse(): number {
  collectGarbage();
  // V8 frees buffers concurrently, and a collection waits until those of the one before are freed.
  collectGarbage();
  const { heapUsed, arrayBuffers, external } = process.memoryUsage();
  return heapUsed + arrayBuffers + external;
}
