import { apiClient } from '../api/api-client.ts';
import { Failure } from '../failure.ts';
import type { Run } from '../invocation.ts';
import { plainLine } from '../output/plain-line.ts';
import { printOne } from '../output/print.ts';
import { webhookSchema, webhookShape } from './webhook-view.ts';

/** `webhook status`: exit 4 where none is bound, 5 where the one that is does not answer. */
export const run: Run<[]> = async (invocation) => {
  const client = await apiClient(invocation);
  const webhook = await client.read('/api/webhook', webhookSchema);
  if (webhook.bound || invocation.flags.format === 'json') printOne(invocation, webhook, webhookShape);
  if (!webhook.bound) throw new Failure('notFound', 'no webhook is bound: svault webhook init, up and bind');
  if (webhook.reachable !== true)
    throw new Failure(
      'unavailable',
      `the webhook at ${plainLine(webhook.url ?? 'its address')} does not answer the service: does it run, and its tunnel?`,
    );
};
