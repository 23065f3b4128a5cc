import { newKey } from '@svault/shared';
import type { Scale } from './scale.ts';

/** Starts a control plane as its image does, until it says that it is there. */
const UNTIL_IT_SPEAKS = `
const { spawn } = require('node:child_process');
const serving = spawn(process.execPath, ['/svault/control-plane/src/main.ts'], { stdio: ['ignore', 'pipe', 'inherit'] });
serving.stdout.once('data', () => serving.kill());
serving.once('exit', (code) => process.exit(code ?? 1));
`;

/**
 * An account beside the others, whose limits nobody else counts against: of a start with another owner, as an operator makes
 * them.
 *
 * @returns its owner's admin key
 */
export async function anotherAccount(scale: Scale): Promise<string> {
  const adminKey = newKey('svadmin');
  const env = {
    SV_BOOTSTRAP_EMAIL: `${adminKey
      .slice(-12)
      .toLowerCase()
      .replace(/[^a-z0-9]/g, 'x')}@example.org`,
    SV_BOOTSTRAP_ADMIN_KEY_FILE: '',
    SV_BOOTSTRAP_ADMIN_KEY: adminKey,
    SV_LISTEN: '127.0.0.1:0',
    SV_DRAIN_SECONDS: '0',
  };
  const set = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const beside = await scale.service('control-plane-1');
  const { exitCode, output } = await beside.run('env', ...set, 'node', '-e', UNTIL_IT_SPEAKS);
  if (exitCode !== 0) throw new Error(`no account was made: ${output}`);
  return adminKey;
}
