import * as z from 'zod';
import { apiClient, nothingSchema } from '../../api/api-client.ts';
import { Failure, orElse } from '../../failure.ts';
import type { Run } from '../../invocation.ts';
import { plainLine } from '../../output/plain-line.ts';
import { printDone } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { confirm } from '../../secret-input/ask.ts';
import { webhookSchema } from '../../webhook-direct/webhook-view.ts';

const rotatedSchema = z.looseObject({ keyId: z.string() });

/** `webhook rotate-secret` */
export const rotateWebhookSecret: Run = async (invocation) => {
  const client = await apiClient(invocation);
  const path = '/api/webhook/rotate-secret';
  const answer = await client.change({ method: 'POST', path, schema: rotatedSchema });
  const said = `requests and tickets are signed with a new key, ${answer.keyId}, from now on`;
  printDone(invocation, { said, answer, name: answer.keyId });
};

/** `webhook unbind` */
export const unbindWebhook: Run<[], { readonly yes?: true }> = async (invocation, _, options) => {
  const client = await apiClient(invocation);
  const { url } = await client.read('/api/webhook', webhookSchema, { bound: true });
  const called = url === undefined ? 'the webhook' : `the webhook at ${plainLine(url)}`;
  await confirm(
    invocation,
    `Unbind ${called}? No credential can be delivered until a webhook is bound again.`,
    options,
  );
  await orElse(client.change({ method: 'DELETE', path: '/api/webhook', schema: nothingSchema }), (error) => {
    if (error.code !== 'NOT_FOUND') throw error;
    throw new Failure('notFound', 'no webhook is bound');
  });
  printDone(invocation, { said: `${called} is unbound`, answer: { bound: false, url }, name: url ?? '' });
  say(
    invocation,
    'to bind it again, erase its keys (svault’s own webhook: unseal-bind), then run svault webhook bind',
  );
};
