import { resolve } from 'node:path';
import { apiClient } from '../../api/api-client.ts';
import { readyEngine } from '../../compose-engine/compose-engine.ts';
import { TIMEOUT_MS, untilHealthy } from '../../compose-engine/health.ts';
import { Failure, failed, unavailable } from '../../failure.ts';
import type { Run } from '../../invocation.ts';
import { plainLine } from '../../output/plain-line.ts';
import { printOne } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { webhookSchema, webhookShape } from '../../webhook-direct/webhook-view.ts';
import { requireProject } from '../../webhook-project/project-folder.ts';
import { compareVersions } from './support-window.ts';

/** `webhook up`: starts a project and waits until all of it is healthy. */
export const startWebhook: Run<[folder: string]> = async (invocation, [name]) => {
  const { flags, signal } = invocation;
  const folder = resolve(name);
  const { values } = await requireProject(folder);
  if (flags.dryRun === true) return say(invocation, `would run, in ${folder}: docker compose up --detach`);
  const compose = await readyEngine(invocation, folder);
  const { code } = await compose.show('up', '--detach', '--remove-orphans');
  if (code !== 0)
    throw unavailable(
      `not all of it starts; see the output of compose above (${compose.name} logs says more)`,
    );
  await untilHealthy(compose, { signal, timeoutMs: TIMEOUT_MS });
  say(invocation, `the webhook runs, and is reached at ${values.get('SV_WEBHOOK_URL') ?? 'its address'}`);
  say(invocation, 'next, unless it is bound: svault webhook bind, in that folder');
};

/** `webhook down`: the kill switch. The data stays. */
export const stopWebhook: Run<[folder: string]> = async (invocation, [name]) => {
  const folder = resolve(name);
  await requireProject(folder);
  if (invocation.flags.dryRun === true)
    return say(invocation, `would run, in ${folder}: docker compose down`);
  const compose = await readyEngine(invocation, folder);
  const { code } = await compose.show('down', '--remove-orphans');
  if (code !== 0)
    throw failed(
      'not all of it stopped, so credentials may still be delivered; see the output of compose above',
    );
  say(invocation, 'the webhook is stopped: no credential can be delivered, stored or used now');
  say(invocation, `its data stays; svault webhook up ${folder} starts it again`);
};

/** `webhook status`: exit 4 where none is bound, 5 where the one that is does not answer. */
export const webhookStatus: Run<[]> = async (invocation) => {
  const client = await apiClient(invocation);
  const webhook = await client.read('/api/webhook', webhookSchema);
  if (webhook.bound || invocation.flags.format === 'json') printOne(invocation, webhook, webhookShape);
  if (!webhook.bound)
    throw new Failure(
      'notFound',
      'no webhook is bound: svault webhook init creates one, svault webhook bind binds it',
    );
  const { toUpgrade } = compareVersions(webhook);
  if (toUpgrade.length > 0)
    say(invocation, `these versions do not support each other: upgrade ${toUpgrade.join(', then ')}`);
  const { problem } = webhook;
  if (webhook.reachable !== true)
    throw unavailable(
      `the webhook at ${plainLine(webhook.url ?? 'its address')} does not answer the control plane; if it is stopped, start it (with npm start: Ctrl-C there, then npm start again; with Docker: svault webhook up in the folder of its project)${problem === undefined ? '' : `. ${plainLine(problem)}`}`,
    );
  if (problem !== undefined) throw failed(plainLine(problem));
};
