import * as z from 'zod';
import { agentPath } from './agents.ts';

/** A grant, as the control plane describes it. */
export const grantSchema = z.looseObject({
  id: z.string(),
  serviceName: z.string(),
  status: z.string(),
  grantExpiresAt: z.string().nullable(),
  refreshPolicy: z.string(),
  sourceGroupId: z.string().nullable(),
  createdAt: z.string(),
});
export type Grant = z.infer<typeof grantSchema>;

/** @param agentId of the agent that has them */
export const grantsPath = (agentId: string): string => `${agentPath(agentId)}/grants`;

/** @param serviceName of the credential that is granted */
export const grantPath = (agentId: string, serviceName: string): string =>
  `${grantsPath(agentId)}/${encodeURIComponent(serviceName)}`;
