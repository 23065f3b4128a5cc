import { resolve } from 'node:path';
import { composeEngine } from '../compose-engine/compose-engine.ts';
import { mustAnswer, mustBeWhole } from '../compose-engine/preconditions.ts';
import { Failure } from '../failure.ts';
import type { Run } from '../invocation.ts';
import { say } from '../output/say.ts';
import { requireProject } from '../webhook-project/project-folder.ts';

/** `webhook down`: the kill switch. The data stays. */
export const run: Run<[folder: string]> = async (invocation, [name]) => {
  const folder = resolve(name);
  await requireProject(folder);
  if (invocation.flags.dryRun === true)
    return say(invocation, `would run, in ${folder}: docker compose down`);
  const compose = await composeEngine(invocation, folder);
  await mustBeWhole(compose, folder);
  await mustAnswer(compose);
  const { code } = await compose.show('down', '--remove-orphans');
  if (code !== 0)
    throw new Failure(
      'failed',
      'not all of it stopped, so credentials may still be delivered; what compose says stands above',
    );
  say(invocation, 'the webhook is stopped: no credential can be delivered, stored or used now');
  say(invocation, `its data stays; svault webhook up ${folder} starts it again`);
};
