import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createNarrator } from './demo-narrator.ts';
import { startOutside } from './demo-outside.ts';
import { demoSteps } from './demo-steps.ts';
import { type Pair, startPair } from './pair.ts';

/**
 * `npm run demo`: the whole main job on real input, in a temporary folder and on free ports. Exit code 0 only
 * if every step did what it should.
 */
const { step } = createNarrator(process.stdout);
const dir = mkdtempSync(join(tmpdir(), 'svault-demo-'));
const outside = await startOutside();
let pair: Pair | undefined;
// Ctrl-C reaches the programs too, so the step in hand fails, and what follows cleans up.
process.on('SIGINT', () => void pair?.stop()).on('SIGTERM', () => void pair?.stop());
try {
  await step('Start the control plane and the webhook, and bind them', async () => {
    const env = { SV_LOG_LEVEL: 'warn', SV_AWS_STS_ENDPOINT: `${outside.url}/sts` };
    pair = await startPair({ dir, env });
    return `control plane ${pair.controlPlaneUrl}, webhook ${pair.webhookUrl}`;
  });
  if (pair !== undefined) await demoSteps(pair, outside, step);
  process.stdout.write('\nEvery step did what it should.\n');
} catch {
  process.exitCode = 1;
} finally {
  await pair?.stop();
  await outside.stop();
  rmSync(dir, { recursive: true, force: true });
}
