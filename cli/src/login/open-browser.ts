import { spawn } from 'node:child_process';
import { platform } from 'node:os';
import type { Invocation } from '../invocation.ts';

/**
 * Opens an address in the browser of this user's desktop, without a shell. Returns at once.
 * @param url https or loopback http alone
 * @param failed is called where no browser could be started
 */
export function openBrowser({ env }: Pick<Invocation, 'env'>, { href }: URL, failed: () => void): void {
  const { SVAULT_KEY: _notForABrowser, ...others } = env;
  const command = platform() === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(command, [href], { stdio: 'ignore', detached: true, env: others });
  child.once('error', failed).once('exit', (code) => {
    if (code !== 0) failed();
  });
  child.unref();
}
