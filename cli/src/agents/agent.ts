import { z } from 'zod';

/** An agent, as the service describes it (contract, "Management routes"). */
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
