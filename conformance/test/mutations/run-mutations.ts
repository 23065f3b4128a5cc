import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import type { Verdict } from './campaign.ts';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));

/** Runs `main.ts`, which loads the webhook in its own way, in a process of its own. @throws Error where it fails */
export async function runMutations(...args: readonly string[]): Promise<readonly Verdict[]> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const verdicts: Verdict[] = [];
  for await (const line of createInterface({ input: child.stdout }))
    verdicts.push(JSON.parse(line) as Verdict);
  const code = await ended;
  if (code !== 0) throw new Error(`main.ts ended with ${code}`);
  return verdicts;
}
