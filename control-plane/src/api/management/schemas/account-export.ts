import { z } from 'zod';
import { ROLES } from '../../../core/actor.ts';
import { adminKeySchema, sessionSchema, vaultSchema } from './account.ts';
import { agentSchema } from './agents.ts';
import { folderSchema } from './folders.ts';
import { grantSchema } from './grants.ts';
import { timeSchema } from './fields.ts';
import { attachmentSchema, policySchema } from './policies.ts';
import { providerSchema } from './providers.ts';
import { tokenSchema } from './tokens.ts';

export const EXPORT_FORMAT = 'svault-account-export';
export const EXPORT_VERSION = 1;

/** What the document says once, before its lists. */
export const exportHeadSchema = z.object({
  format: z.literal(EXPORT_FORMAT),
  version: z.literal(EXPORT_VERSION),
  exportedAt: timeSchema,
  vault: vaultSchema,
  webhook: z
    .object({
      webhookId: z.string(),
      url: z.string(),
      capabilities: z.array(z.string()),
      boundAt: timeSchema,
      boundBy: z.string(),
      lastSeenAt: timeSchema.nullable(),
    })
    .nullable()
    .meta({ description: 'null: none is bound' }),
});

/** Of what each list is made. */
export const exportItemSchemas = {
  members: z.object({
    id: z.string(),
    email: z.string(),
    role: z.enum(ROLES),
    isOwner: z.boolean(),
    createdAt: timeSchema,
  }),
  agents: agentSchema,
  grants: grantSchema,
  tokens: tokenSchema.omit({ webhook: true }),
  folders: folderSchema,
  policies: policySchema,
  policyAttachments: z.object({ policyId: z.string(), ...attachmentSchema.shape }),
  proxies: z.object({
    id: z.string(),
    name: z.string(),
    upstreamUrl: z.string(),
    upstreamAuthType: z.enum(['Token', 'sv_session']),
    serviceName: z.string().nullable(),
    agentId: z.string().nullable(),
    headerTemplates: z.record(z.string(), z.string()).nullable(),
    status: z.enum(['active', 'revoked']),
    keyPrefix: z.string(),
    createdAt: timeSchema,
    revokedAt: timeSchema.nullable(),
    lastUsedAt: timeSchema.nullable(),
  }),
  providers: providerSchema,
  adminKeys: adminKeySchema,
  sessions: sessionSchema.omit({ current: true }),
} as const;

export const accountExportSchema = exportHeadSchema
  .extend({
    members: z.array(exportItemSchemas.members),
    agents: z.array(exportItemSchemas.agents).meta({ description: 'Deleted ones too' }),
    grants: z.array(exportItemSchemas.grants).meta({ description: 'Expired ones too' }),
    tokens: z.array(exportItemSchemas.tokens),
    folders: z.array(exportItemSchemas.folders),
    policies: z.array(exportItemSchemas.policies),
    policyAttachments: z.array(exportItemSchemas.policyAttachments),
    proxies: z.array(exportItemSchemas.proxies).meta({ description: 'Revoked ones too' }),
    providers: z.array(exportItemSchemas.providers),
    adminKeys: z.array(exportItemSchemas.adminKeys),
    sessions: z.array(exportItemSchemas.sessions),
  })
  .meta({ id: 'AccountExport', description: 'Everything that is kept of the account but keys and the log.' });
