import type { Pair } from '@svault/compose/pair';
import { randomToken } from '@svault/shared';

/** What every agent of a run has a grant for. */
export const SERVICE = 'bench-service';

/** Makes agents with a grant each, MCP on, under one policy of these rules. @returns their keys */
export async function makeAgents(
  { admin }: Pick<Pair, 'admin'>,
  count: number,
  rules: readonly object[] = [],
): Promise<readonly string[]> {
  const policy =
    rules.length > 0 && (await admin.call<{ id: string }>('POST', '/api/policies', { name: 'bench', rules }));
  const keys: string[] = [];
  for (let index = 0; index < count; index++) {
    const { agent, apiKey } = await admin.call<{ agent: { id: string }; apiKey: string }>(
      'POST',
      '/api/agents',
      { name: `bench ${index} ${randomToken(6)}`, mcpEnabled: true },
    );
    await admin.call('POST', `/api/agents/${agent.id}/grants`, { allowMissing: true, serviceName: SERVICE });
    if (policy)
      await admin.call('POST', `/api/policies/${policy.id}/attachments`, {
        targetType: 'agent',
        targetId: agent.id,
      });
    keys.push(apiKey);
  }
  return keys;
}
