import { z } from 'zod';
import { SESSION } from '../../api/resources.ts';
import { type PrintedResource, listing, removing } from '../resource-commands.ts';

const sessionSchema = z.looseObject({
  id: z.string(),
  kind: z.string(),
  userId: z.string(),
  agentId: z.string().optional(),
  client: z.string(),
  current: z.boolean(),
  createdAt: z.string(),
  lastUsedAt: z.string(),
  expiresAt: z.string(),
});

const SESSIONS: PrintedResource<z.infer<typeof sessionSchema>> = {
  resource: SESSION,
  schema: sessionSchema,
  shape: () => ({
    columns: [
      { title: 'id', of: ({ id }) => id, whole: true },
      { title: 'kind', of: ({ kind, current }) => (current ? `${kind} (this one)` : kind), whole: true },
      { title: 'client', of: ({ client }) => client },
      { title: 'of', of: ({ agentId, userId }) => agentId ?? userId },
      { title: 'last used', of: ({ lastUsedAt }, { time }) => time(lastUsedAt), whole: true },
      { title: 'ends', of: ({ expiresAt }, { time }) => time(expiresAt), whole: true },
      { title: 'since', of: ({ createdAt }, { time }) => time(createdAt), wide: true },
    ],
    name: ({ id }) => id,
    none: 'nobody is signed in, and no MCP client acts as an agent',
  }),
};

/** `sessions list` */
export const listSessions = listing(SESSIONS);
/** `sessions rm SESSION` */
export const removeSession = removing(SESSION, {
  question: ({ id, name }) => `End the session ${id} of ${name}?`,
  said: ({ id, name }) => `the session ${id} of ${name} is ended`,
});
