import { join } from 'node:path';
import { expect } from 'vitest';
import type { TestPair } from './pair.ts';
import { ROOT, run } from './run-program.ts';

/** Runs a subcommand of the webhook's program on its machine, as `svault-run webhook` does. @returns its stdout */
export async function webhookSubcommand(
  { dir, webhookUrl, masterKeys }: Pick<TestPair, 'dir' | 'masterKeys' | 'webhookUrl'>,
  ...args: readonly string[]
): Promise<string> {
  const { code, stdout, stderr } = await run([process.execPath, join(ROOT, 'webhook/src/main.ts'), ...args], {
    env: {
      SV_WEBHOOK_URL: webhookUrl,
      SV_WEBHOOK_LISTEN: '127.0.0.1:0',
      SV_WEBHOOK_DATA_DIR: join(dir, 'webhook'),
      SV_WEBHOOK_MASTER_KEY: masterKeys.webhook,
      SV_WEBHOOK_SERVICE_URL: 'http://127.0.0.1:1',
    },
  });
  expect([args, code, stderr]).toEqual([args, 0, '']);
  return stdout;
}
