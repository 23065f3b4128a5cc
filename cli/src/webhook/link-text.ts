import { resolve } from 'node:path';
import { composeEngine } from '../compose-engine/compose-engine.ts';
import { mustAnswer, mustBeWhole } from '../compose-engine/preconditions.ts';
import { DryRunDone } from '../http/dry-run.ts';
import { Failure, usage } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { say } from '../output/say.ts';
import { readStreamBounded } from '../secret-input/read-bounded.ts';
import { projectIn } from '../webhook-project/project-folder.ts';

const MAX_BYTES = 64 * 1_024;

/**
 * What `bind-link` printed: on the command line; else on stdin, where that is no terminal; else it is run in the project of
 * this folder.
 * @throws Failure
 */
export async function linkText(invocation: Invocation, argument: string | undefined): Promise<string> {
  if (argument !== undefined && argument !== '-') return argument;
  const { stdin, interactive } = invocation.terminal;
  if (!interactive.in) {
    const bytes = await readStreamBounded(stdin, MAX_BYTES, invocation.signal);
    const text = Buffer.from(bytes).toString('utf8');
    if (text.trim() !== '' || argument === '-') return text;
  }
  const folder = resolve('.');
  if ((await projectIn(folder)) === undefined)
    throw usage(
      'give the link that the webhook’s bind-link printed, as the argument or on stdin; or run this in the folder of its project',
    );
  if (invocation.flags.dryRun === true) {
    say(invocation, `would run, in ${folder}: docker compose run --rm webhook bind-link`);
    throw new DryRunDone();
  }
  const compose = await composeEngine(invocation, folder);
  await mustBeWhole(compose, folder);
  await mustAnswer(compose);
  const { code, out } = await compose.read('run', '--rm', '--no-deps', '-T', 'webhook', 'bind-link');
  if (code !== 0) throw new Failure('failed', 'the webhook gave no link; what it says stands above');
  return out;
}
