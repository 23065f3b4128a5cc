import { z } from 'zod';
import type { AdminKey } from '../../../core/admin-key.ts';
import { ROLES } from '../../../core/actor.ts';
import { SESSION_KINDS, SIGN_IN_METHODS, type Session } from '../../../core/session.ts';
import type { SignedIn } from '../../../sign-in/sessions.ts';
import type { Vault } from '../../../core/vault.ts';
import { lineSchema, timeSchema } from './fields.ts';

export const meSchema = z
  .object({
    id: z.string().meta({ examples: ['usr_…'] }),
    email: z.string(),
    role: z.enum(ROLES),
    isOwner: z.boolean(),
    vaultId: z.string().meta({ examples: ['vlt_…'] }),
    via: z.enum(['adminKey', 'session']).meta({ description: 'How this request is signed in' }),
    method: z
      .enum(SIGN_IN_METHODS)
      .nullable()
      .meta({ description: 'How the session was signed in; null for an admin key' }),
  })
  .meta({ id: 'Me' });

export const vaultSchema = z
  .object({
    id: z.string().meta({ examples: ['vlt_…'] }),
    locked: z.boolean(),
    lockedAt: timeSchema.nullable(),
    createdAt: timeSchema,
  })
  .meta({ id: 'Vault' });

export const adminKeySchema = z
  .object({
    id: z.string().meta({ examples: ['adk_…'] }),
    name: z.string(),
    origin: z.enum(['settings', 'api']).meta({ description: 'settings: from SV_BOOTSTRAP_ADMIN_KEY' }),
    userId: z.string(),
    keyPrefix: z.string(),
    createdAt: timeSchema,
    lastUsedAt: timeSchema.nullable(),
  })
  .meta({ id: 'AdminKey' });

export const newAdminKeySchema = z.strictObject({ name: lineSchema(100) }).meta({ id: 'NewAdminKey' });

export const adminKeyWithKeySchema = z.object({
  adminKey: adminKeySchema,
  key: z.string().meta({ description: 'The key, in full; it is not kept and cannot be shown again' }),
});

export const sessionSchema = z
  .object({
    id: z.string().meta({ examples: ['ses_…'] }),
    kind: z.enum(SESSION_KINDS),
    userId: z.string(),
    agentId: z
      .string()
      .optional()
      .meta({ examples: ['agt_…'], description: 'Whom an MCP client acts as; of kind oauth only' }),
    clientId: z
      .string()
      .optional()
      .meta({
        examples: ['https://app.example.com/client.json', 'ocl_…', 'prx_…'],
        description:
          'The address at which an MCP client describes itself, or the id of one that only registered; or a proxy, for which this service is the client of its upstream',
      }),
    client: z.string().meta({ description: 'What the client called itself' }),
    current: z.boolean().meta({ description: 'Whether this request is signed in by it' }),
    createdAt: timeSchema,
    lastUsedAt: timeSchema,
    expiresAt: timeSchema,
  })
  .meta({ id: 'Session' });

export const loginLinkSchema = z
  .strictObject({ token: z.string().min(1).max(200) })
  .meta({ id: 'LoginLink' });

/** Somebody who has just signed in. */
export const toSignedInView = ({ user, method }: SignedIn): z.output<typeof meSchema> => ({
  ...user,
  via: 'session',
  method,
});

export const toVaultView = ({ id, lockedAt, createdAt }: Vault): z.output<typeof vaultSchema> => ({
  id,
  locked: lockedAt !== undefined,
  lockedAt: lockedAt ?? null,
  createdAt,
});

export const toAdminKeyView = ({ lastUsedAt, ...key }: AdminKey): z.output<typeof adminKeySchema> => ({
  ...key,
  lastUsedAt: lastUsedAt ?? null,
});

export const toSessionView = (session: Session, current: string): z.output<typeof sessionSchema> => ({
  ...session,
  current: session.id === current,
});
