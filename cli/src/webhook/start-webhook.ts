import { resolve } from 'node:path';
import { composeEngine } from '../compose-engine/compose-engine.ts';
import { PATIENCE_MS, untilHealthy } from '../compose-engine/health.ts';
import { mustAnswer, mustBeWhole } from '../compose-engine/preconditions.ts';
import { Failure } from '../failure.ts';
import type { Run } from '../invocation.ts';
import { say } from '../output/say.ts';
import { requireProject } from '../webhook-project/project-folder.ts';

/** `webhook up`: starts a project and waits until all of it is healthy. */
export const run: Run<[folder: string]> = async (invocation, [name]) => {
  const { flags, signal } = invocation;
  const folder = resolve(name);
  const { values } = await requireProject(folder);
  if (flags.dryRun === true) return say(invocation, `would run, in ${folder}: docker compose up --detach`);
  const compose = await composeEngine(invocation, folder);
  await mustBeWhole(compose, folder);
  await mustAnswer(compose);
  const { code } = await compose.show('up', '--detach', '--remove-orphans');
  if (code !== 0)
    throw new Failure(
      'unavailable',
      `not all of it starts; what compose says stands above (${compose.name} logs says more)`,
    );
  await untilHealthy(compose, { signal, patienceMs: PATIENCE_MS });
  say(invocation, `the webhook runs, and is reached at ${values.get('SV_WEBHOOK_URL') ?? 'its address'}`);
  say(invocation, 'next, unless it is bound: svault webhook bind, in that folder');
};
