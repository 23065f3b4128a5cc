import * as z from 'zod';
import { agentReferred } from '../../api/agents.ts';
import { apiClient } from '../../api/api-client.ts';
import { SESSION } from '../../api/resources.ts';
import type { Run } from '../../invocation.ts';
import { withQuery } from '../../json-in.ts';
import { plainLine } from '../../output/plain-line.ts';
import { printList } from '../../output/print.ts';
import { type PrintedResource, removing } from '../resource-commands.ts';

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
export const listSessions: Run<[], { readonly agent?: string }> = async (invocation, _, { agent }) => {
  const client = await apiClient(invocation);
  const agentId = agent === undefined ? undefined : (await agentReferred(client, agent)).id;
  const sessions = await client.readAll(withQuery(SESSION.path, { agentId }), sessionSchema);
  const shape = SESSIONS.shape(sessions);
  printList(
    invocation,
    sessions,
    agent === undefined ? shape : { ...shape, none: `no MCP client acts as ${plainLine(agent)}` },
  );
};

/** `sessions rm SESSION` */
export const removeSession = removing(SESSION, {
  question: ({ id, name }) => `End the session ${id} of ${name}?`,
  said: ({ id, name }) => `the session ${id} of ${name} is ended`,
});
