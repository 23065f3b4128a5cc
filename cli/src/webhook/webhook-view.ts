import { z } from 'zod';
import type { Shape } from '../output/print.ts';

/** Answer of `GET /api/webhook` and of a binding. */
export const webhookSchema = z.looseObject({
  bound: z.boolean(),
  url: z.string().optional(),
  webhookId: z.string().optional(),
  reachable: z.boolean().optional(),
  lastSeenAt: z.string().optional(),
  latencyMs: z.number().optional(),
  boundAt: z.string().optional(),
  keyId: z.string().optional(),
  rotationPending: z.boolean().optional(),
  capabilities: z.array(z.string()).optional(),
});
export type WebhookView = z.infer<typeof webhookSchema>;

export const webhookShape: Shape<WebhookView> = {
  name: ({ url = '' }) => url,
  columns: [
    { title: 'webhook', of: ({ url = '' }) => url },
    {
      title: 'answers',
      of: ({ reachable }) => (reachable === true ? 'yes' : 'no'),
      tone: ({ reachable }) => (reachable === true ? 'green' : 'red'),
    },
    { title: 'latency', of: ({ latencyMs }) => (latencyMs === undefined ? '' : `${latencyMs} ms`) },
    { title: 'last seen', of: ({ lastSeenAt }, { time }) => time(lastSeenAt) },
    { title: 'bound', of: ({ boundAt }, { time }) => time(boundAt) },
    { title: 'id', of: ({ webhookId = '' }) => webhookId },
    {
      title: 'key',
      of: ({ keyId = '', rotationPending }) =>
        rotationPending === true ? `${keyId} (being replaced)` : keyId,
    },
    { title: 'can', of: ({ capabilities = [] }) => capabilities.join(', ') },
  ],
};
