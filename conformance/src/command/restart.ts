import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { NotTestable } from '../check/outcome.ts';

const MAX_START_MS = 30_000;
const POLL_MS = 50;

/**
 * Restarts a webhook by a command for a shell, which returns once that is under way, and waits until it answers.
 * @param webhookUrl its address
 * @throws NotTestable where the command fails, or nothing answers within 30 seconds
 */
export async function restartBy(command: string, webhookUrl: string): Promise<void> {
  const child = spawn(command, { shell: true, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new NotTestable(`the command of --restart ended with ${code ?? 'a signal'}`);
  const end = Date.now() + MAX_START_MS;
  while (Date.now() < end) {
    const answer = await fetch(`${webhookUrl}/v1/health`, { redirect: 'manual' }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok === true) return;
    await delay(POLL_MS);
  }
  throw new NotTestable('the webhook did not answer GET /v1/health within 30 seconds of its restart');
}
