import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';

const MODULE = new URL('./shutdown.ts', import.meta.url).href;

/** Runs a program that stops as given, sends it signals one after another, and gives its exit code. */
async function codeAfter(stop: string, ...signals: readonly NodeJS.Signals[]): Promise<number | null> {
  const script = `
    const { onStop } = await import(${JSON.stringify(MODULE)});
    setInterval(() => {}, 1_000_000);
    onStop(async () => { console.log('stops'); ${stop} }, { drainSeconds: 0, err: () => {} });
    console.log('runs');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const lines = child.stdout.setEncoding('utf8');
  await once(lines, 'data');
  for (const signal of signals) {
    child.kill(signal);
    await Promise.race([once(lines, 'data'), ended]);
  }
  return (await ended)[0];
}

it('onStop exits with 0 after a clean stop, and with 1 after a failed one', async () => {
  expect(await codeAfter('', 'SIGTERM')).toBe(0);
  expect(await codeAfter('', 'SIGINT')).toBe(0);
  expect(await codeAfter("throw new Error('no')", 'SIGTERM')).toBe(1);
});

it('onStop exits at a second Ctrl-C, whatever is in progress', async () => {
  expect(await codeAfter('await new Promise(() => {})', 'SIGTERM', 'SIGINT')).toBe(1);
});
