import * as z from 'zod';
import { apiClient } from '../../api/api-client.ts';
import type { AgentContext, Context } from '../../contexts/context.ts';
import type { Run } from '../../invocation.ts';
import { type Shape, printOne } from '../../output/print.ts';

const meSchema = z.looseObject({ email: z.string(), role: z.string(), via: z.string(), vaultId: z.string() });
const grantsSchema = z.looseObject({ grants: z.array(z.looseObject({ serviceName: z.string() })) });

const ofLogin = ({ name, kind, baseUrl }: Context) => ({ login: name, kind, baseUrl });
type OfLogin = ReturnType<typeof ofLogin>;

const adminShape: Shape<OfLogin & z.infer<typeof meSchema>> = {
  columns: [
    { title: 'login', of: ({ login }) => login },
    { title: 'service', of: ({ baseUrl }) => baseUrl },
    { title: 'who', of: ({ email }) => email },
    { title: 'role', of: ({ role }) => role },
    { title: 'by', of: ({ via }) => (via === 'adminKey' ? 'an admin key' : 'a session') },
    { title: 'vault', of: ({ vaultId }) => vaultId },
  ],
  name: ({ email }) => email,
};

const agentShape: Shape<OfLogin & Pick<AgentContext, 'keyPrefix'> & z.infer<typeof grantsSchema>> = {
  columns: [
    { title: 'login', of: ({ login }) => login },
    { title: 'service', of: ({ baseUrl }) => baseUrl },
    { title: 'who', of: ({ keyPrefix }) => `the agent with the key ${keyPrefix}` },
    { title: 'grants', of: ({ grants }) => String(grants.length) },
  ],
  name: ({ keyPrefix }) => keyPrefix,
};

/** `whoami` */
export const whoami: Run = async (invocation) => {
  const client = await apiClient(invocation, 'anybody');
  const { context } = client.login;
  if (context.kind === 'admin') {
    const me = await client.read('/api/me', meSchema);
    return printOne(invocation, { ...ofLogin(context), ...me, ...ofLogin(context) }, adminShape);
  }
  const { grants } = await client.read('/api/agents/credentials', grantsSchema);
  const { keyPrefix } = context;
  printOne(invocation, { ...ofLogin(context), keyPrefix, grants }, agentShape);
};
