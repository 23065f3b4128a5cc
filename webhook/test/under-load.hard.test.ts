import { startMachineLoad } from '@svault/test-kit/machine-load';
import { afterAll, beforeAll, describe } from 'vitest';

/*
 * Promises that hold however slow the machine is: the tests of each, once more, while the machine has six times as much
 * to do as it can.
 */

let end: () => Promise<void>;
beforeAll(() => {
  end = startMachineLoad(540_000);
});
afterAll(() => end());

describe('rejected bodies on a loaded machine', async () => {
  await import('./http/bad-http.test.ts');
});
describe('a stop on a loaded machine', async () => {
  await import('./stop.test.ts');
});
