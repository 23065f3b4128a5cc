import { parseWebhookUrl } from '@svault/shared';
import * as z from 'zod';
import type { Shape } from '../output/print.ts';

/** Of a webhook, that the client calls (protocol 5.4 and 5.5). */
type Endpoint = '/v1/credential' | '/v1/store';

/**
 * The webhook that an address leads to. It is compared, kept and printed in lines to copy, so nothing but an address by
 * SIG-13 and SIG-14 is one: its path has no character that means something to a shell.
 * @returns its address in the one spelling; undefined where this is no such endpoint
 */
export function webhookOf({ origin, pathname }: URL, endpoint: Endpoint): string | undefined {
  if (!pathname.endsWith(endpoint)) return undefined;
  const webhook = parseWebhookUrl(origin + pathname.slice(0, -endpoint.length));
  return webhook.ok ? webhook.url : undefined;
}

/** Answer of `GET /api/webhook` and of a binding. */
export const webhookSchema = z.looseObject({
  bound: z.boolean(),
  url: z.string().optional(),
  webhookId: z.string().optional(),
  reachable: z.boolean().optional(),
  problem: z.string().optional(),
  lastSeenAt: z.string().optional(),
  latencyMs: z.number().optional(),
  boundAt: z.string().optional(),
  keyId: z.string().optional(),
  rotationPending: z.boolean().optional(),
  version: z.string().optional(),
  controlPlaneVersion: z.string().optional(),
  log: z
    .looseObject({ newest: z.number(), acknowledged: z.number(), behindSince: z.string().nullable() })
    .optional(),
  setAside: z.looseObject({ reason: z.string(), until: z.string() }).optional(),
  capabilities: z.array(z.string()).optional(),
});
export type WebhookView = z.infer<typeof webhookSchema>;

export const webhookShape: Shape<WebhookView> = {
  name: ({ url = '' }) => url,
  columns: [
    {
      title: 'answers',
      of: ({ reachable }) => (reachable === true ? 'yes' : 'no'),
      tone: ({ reachable }) => (reachable === true ? 'green' : 'red'),
    },
    { title: 'webhook', of: ({ url = '' }) => url },
    {
      title: 'latency',
      // An older control plane sends that of the last call that was answered.
      of: ({ reachable, latencyMs }) =>
        reachable === true && latencyMs !== undefined ? `${latencyMs} ms` : '',
    },
    { title: 'last seen', of: ({ lastSeenAt }, { time }) => time(lastSeenAt) },
    {
      title: 'log copied',
      of: ({ log }, { time }) =>
        log === undefined
          ? ''
          : `${log.acknowledged} of ${log.newest}${log.behindSince === null ? '' : `, behind since ${time(log.behindSince)}`}`,
    },
    { title: 'version', of: ({ version = '' }) => version },
    { title: 'control plane', of: ({ controlPlaneVersion = '' }) => controlPlaneVersion },
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
