import { Failure, usage } from '../failure.ts';
import { plainLine } from '../output/plain-line.ts';
import type { ComposeEngine } from './compose-engine.ts';

/** @throws Failure usage for a project that compose does not take; it has said why */
export async function mustBeWhole(compose: ComposeEngine, folder: string): Promise<void> {
  const { code } = await compose.show('config', '--quiet');
  if (code !== 0) throw usage(`the project in ${folder} is not complete; what compose misses stands above`);
}

/** @throws Failure unavailable where no engine does */
export async function mustAnswer(compose: ComposeEngine): Promise<void> {
  const { code, lastLine } = await compose.try('ps');
  if (code === 0) return;
  throw new Failure(
    'unavailable',
    `no container engine answers; is Docker started, and may you use it? (${plainLine(lastLine).trim()})`,
  );
}
