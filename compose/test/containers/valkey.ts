import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scale } from './scale.ts';

/** A command at the Valkey of a deployment, as its operator gives one. @returns what it answered */
export async function valkey(scale: Scale, ...command: readonly string[]): Promise<string> {
  const { password } = new URL(readFileSync(join(scale.folder, 'secrets/redis.url'), 'utf8'));
  const machine = await scale.service('valkey');
  const { exitCode, output } = await machine.run(
    'env',
    `REDISCLI_AUTH=${password}`,
    'valkey-cli',
    ...command,
  );
  if (exitCode !== 0 || /^(ERR|WRONG|NOAUTH|OOM)/.test(output)) throw new Error(`valkey: ${output}`);
  return output.trim();
}
