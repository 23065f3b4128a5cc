import { z } from 'zod';
import { timeAndDistance } from '../output/shown-time.ts';
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

/** @param nowMs by which times are told */
export const webhookShape = (nowMs: number): Shape<WebhookView> => ({
  name: ({ url = '' }) => url,
  columns: [
    { title: 'Webhook', of: ({ url = '' }) => url },
    { title: 'Answers', of: ({ reachable }) => (reachable === true ? 'yes' : 'no') },
    { title: 'Latency', of: ({ latencyMs }) => (latencyMs === undefined ? '' : `${latencyMs} ms`) },
    { title: 'Last seen', of: ({ lastSeenAt }) => told(lastSeenAt, nowMs) },
    { title: 'Bound', of: ({ boundAt }) => told(boundAt, nowMs) },
    { title: 'Id', of: ({ webhookId = '' }) => webhookId },
    {
      title: 'Key',
      of: ({ keyId = '', rotationPending }) =>
        rotationPending === true ? `${keyId} (being replaced)` : keyId,
    },
    { title: 'Can', of: ({ capabilities = [] }) => capabilities.join(', ') },
  ],
});

const told = (time: string | undefined, nowMs: number): string =>
  time === undefined ? '' : timeAndDistance(time, nowMs);
