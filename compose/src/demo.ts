import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillAccount } from './demo-account.ts';
import { createNarrator, expectEqual } from './demo-narrator.ts';
import { startOutside } from './demo-outside.ts';
import { demoSteps } from './demo-steps.ts';
import { type Pair, startPair } from './pair.ts';

/**
 * `npm run demo`: the whole main job on real input, in a temporary folder and on free ports. Exit code 0 only
 * if every step did what it should. With `--keep` the pair then stays up with a filled account, until Ctrl-C.
 */
const words = process.argv.slice(2);
const keep = words[0] === '--keep';
if (words.length > Number(keep)) {
  process.stderr.write('Usage: npm run demo             the main paths once; leaves nothing behind\n');
  process.stderr.write('       npm run demo -- --keep   then stay up with a filled account, until Ctrl-C\n');
  process.exit(2);
}
const DONE = '\nEvery step did what it should.\n';
const { step } = createNarrator(process.stdout);
const dir = mkdtempSync(join(tmpdir(), 'svault-demo-'));
const outside = await startOutside();
let pair: Pair | undefined;
const stopped = Promise.withResolvers<void>();
// Ctrl-C reaches the programs too, so the step in hand fails, and what follows cleans up.
const stop = (): void => {
  stopped.resolve();
  void pair?.stop();
};
process.on('SIGINT', stop).on('SIGTERM', stop);
try {
  await step('Start the control plane and the webhook, and bind them', async () => {
    const env = { SV_LOG_LEVEL: 'warn', SV_AWS_STS_ENDPOINT: `${outside.url}/sts` };
    pair = await startPair({ dir, env });
    return `control plane ${pair.controlPlaneUrl}, webhook ${pair.webhookUrl}`;
  });
  if (pair !== undefined) {
    await demoSteps(pair, outside, step);
    if (keep) await stayUp(pair);
    else process.stdout.write(`${DONE}To look at an account in the web console: npm run demo -- --keep\n`);
  }
} catch {
  process.exitCode = 1;
} finally {
  await pair?.stop();
  await outside.stop();
  rmSync(dir, { recursive: true, force: true });
}

/** @throws Error when the control plane ends by itself */
async function stayUp(running: Pair): Promise<void> {
  await step('Start the webhook again, and fill the account', async () => {
    await running.restart('webhook');
    // Until a call is answered the control plane takes it for offline.
    const { reachable } = await running.admin.call<{ reachable: boolean }>('GET', '/api/webhook');
    expectEqual('whether the webhook answers', reachable, true);
    return fillAccount(running, outside);
  });
  const link = (await running.run('control-plane', 'owner-link')).trim();
  process.stdout.write(`${DONE}
The pair stays up. To look at the account in the web console, sign in by this link, once and within 30 minutes:

  ${link}

Ctrl-C stops both programs and deletes their files.
`);
  const ended = once(running.process('control-plane').child, 'exit').then(() => 'ended' as const);
  if ((await Promise.race([stopped.promise, ended])) === 'ended') throw new Error('the control plane ended');
}
