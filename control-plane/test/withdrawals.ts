import type { Call } from './management-service.ts';

/** Something that an owner takes from an agent, and gives back. */
export interface Withdrawal {
  readonly what: string;
  /** The status that the agent's next request for the service `granted` gets. */
  readonly then: number;
  take(admin: Call): Promise<void>;
  giveBack(admin: Call): Promise<void>;
}

/** Every way to take the service `granted` from an agent at once, whose key stays. */
export function withdrawals(agent: { readonly id: string }): readonly Withdrawal[] {
  const path = `/api/agents/${agent.id}`;
  const change = async (admin: Call, method: string, to: string, body?: object): Promise<string> => {
    const answer = await admin(method, to, { body });
    if (answer.status >= 300) throw new Error(`${method} ${to} answered ${answer.status}: ${answer.text}`);
    return answer.text;
  };
  let policy = '';
  return [
    {
      what: 'suspend',
      then: 403,
      take: async (admin) => void (await change(admin, 'POST', `${path}/suspend`)),
      giveBack: async (admin) => void (await change(admin, 'POST', `${path}/resume`)),
    },
    {
      what: 'revoke',
      then: 404,
      take: async (admin) => void (await change(admin, 'DELETE', `${path}/grants/granted`)),
      giveBack: async (admin) =>
        void (await change(admin, 'POST', `${path}/grants`, { serviceName: 'granted' })),
    },
    {
      what: 'lock',
      then: 423,
      take: async (admin) => void (await change(admin, 'POST', '/api/vault/lock')),
      giveBack: async (admin) => void (await change(admin, 'POST', '/api/vault/unlock')),
    },
    {
      what: 'a policy that is attached',
      then: 403,
      take: async (admin) => {
        const body = { name: 'ask first', enabled: true, rules: [{ type: 'manual_approval' }] };
        policy = (JSON.parse(await change(admin, 'POST', '/api/policies', body)) as { id: string }).id;
        const target = { targetType: 'agent', targetId: agent.id };
        await change(admin, 'POST', `/api/policies/${policy}/attachments`, target);
      },
      giveBack: async (admin) => void (await change(admin, 'DELETE', `/api/policies/${policy}`)),
    },
  ];
}
