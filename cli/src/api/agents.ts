import * as z from 'zod';
import type { ApiClient } from './api-client.ts';
import { type Referred, referred } from './resource.ts';
import { AGENT } from './resources.ts';

/** An agent, as the control plane describes it. */
export const agentSchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  status: z.string(),
  mcpEnabled: z.boolean(),
  sealingKeyThumbprint: z.string().optional(),
  createdAt: z.string(),
  lastUsedAt: z.string().nullable(),
  keyPrefix: z.string(),
});
export type Agent = z.infer<typeof agentSchema>;

/** @param id of an agent */
export const agentPath = (id: string): string => `/api/agents/${encodeURIComponent(id)}`;

/** @see referred */
export const agentReferred = (client: ApiClient, reference: string): Promise<Referred> =>
  referred(client, AGENT, reference);
