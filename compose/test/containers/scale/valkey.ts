import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scale } from './scale.ts';

/** A command at the Valkey of a deployment, as its operator gives one. @returns what it answered */
export async function valkey(scale: Scale, ...command: readonly string[]): Promise<string> {
  const { password } = new URL(readFileSync(join(scale.folder, 'secrets/redis.url'), 'utf8'));
  const machine = await scale.service('valkey');
  // Its client reads the first in place of the second from some version on.
  const set = ['VALKEYCLI_AUTH', 'REDISCLI_AUTH'].map((name) => `${name}=${password}`);
  const { exitCode, output } = await machine.run('env', ...set, 'valkey-cli', ...command);
  if (exitCode !== 0 || /^(ERR|WRONG|NOAUTH|OOM)/.test(output)) throw new Error(`valkey: ${output}`);
  return output.trim();
}

/** As if a caller had been struck so often in the last hour, and each lockout had been served. It has called before. */
export async function seedStrikes(scale: Scale, callerId: string, strikes: number): Promise<void> {
  const keys = (await valkey(scale, 'KEYS', `svault:*:agent_credentials:*:${callerId}`)).split('\n');
  const [account] = (keys[0] ?? '').split(':agent_credentials:');
  const [seconds] = (await valkey(scale, 'TIME')).split('\n');
  const now = Number(seconds) * 1_000;
  const box = `${account}:box:${callerId}`;
  await valkey(scale, 'SET', box, `${strikes} ${now} ${now}`, 'PX', '3600000');
}
