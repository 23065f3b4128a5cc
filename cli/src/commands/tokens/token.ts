import { requestRulesSchema } from '@svault/shared/request-rules';
import * as z from 'zod';
import type { ApiClient } from '../../api/api-client.ts';
import { aboutToken, tokenPath } from '../../api/service-name.ts';
import { orElse, unavailable } from '../../failure.ts';

/** What the webhook says of a record (protocol 5.3), as far as the control plane passes it on. */
const heldSchema = z.looseObject({
  tokenType: z.string(),
  version: z.number(),
  empty: z.boolean(),
  delivery: z.string(),
  allowedHosts: z.array(z.string()),
  allowedHeaders: z.array(z.string()),
  allowedQuery: z.array(z.string()).optional(),
  requests: requestRulesSchema.optional(),
  approval: z
    .looseObject({ by: z.string(), for: z.array(z.string()), standingSeconds: z.number().optional() })
    .optional(),
  hasRefreshToken: z.boolean(),
  updatedAt: z.string(),
  expiryTime: z.string().optional(),
  reauthNeeded: z.boolean().optional(),
  provider: z
    .looseObject({
      tokenUrl: z.string(),
      clientId: z.string(),
      authMethod: z.string().optional(),
      mediated: z.boolean().optional(),
    })
    .optional(),
});
export type HeldRecord = z.infer<typeof heldSchema>;

/** A token as the control plane shows it. `webhook` is absent where that holds none, or did not answer at once. */
export const tokenSchema = z.looseObject({
  serviceName: z.string(),
  tokenType: z.string(),
  displayName: z.string(),
  description: z.string(),
  notes: z.string(),
  tags: z.array(z.string()),
  createdAt: z.string(),
  updatedAt: z.string(),
  upstreamRejectedAt: z.string().optional(),
  webhook: heldSchema.optional(),
});
export type Token = z.infer<typeof tokenSchema>;

const webhookSchema = z.looseObject({ bound: z.boolean(), reachable: z.boolean().optional() });

/**
 * A token, with what the webhook says of it; without that only where the webhook holds nothing. The control plane asks
 * it for half a second and no longer, so silence is not taken for an answer here.
 * @throws Failure unavailable where no webhook is bound or it does not answer; notFound
 */
export async function readToken(client: ApiClient, name: string): Promise<Token> {
  const first = await tokenOf(client, name);
  if (first.webhook !== undefined) return first;
  const { bound, reachable } = await webhookOf(client);
  if (!bound) throw unavailable('no webhook is bound: svault webhook bind');
  if (reachable !== true)
    throw unavailable(
      `the webhook does not answer, so the value of ${name} is unknown: svault webhook status`,
    );
  return tokenOf(client, name);
}

/** A member may not read the state of the webhook: for them it counts as not answering. */
const webhookOf = (client: ApiClient): Promise<z.infer<typeof webhookSchema>> =>
  orElse<z.infer<typeof webhookSchema>>(client.read('/api/webhook', webhookSchema), (error) => {
    if (error.code !== 'FORBIDDEN') throw error;
    return { bound: true };
  });

/** A token, with what the webhook says of it at once. @throws Failure notFound */
export const tokenOf = (client: ApiClient, name: string): Promise<Token> =>
  aboutToken(name, client.read(tokenPath(name), tokenSchema));
