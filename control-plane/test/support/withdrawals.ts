import type { Call } from './management-service.ts';

/** A right that an owner withdraws from an agent and restores. */
export interface Withdrawal {
  readonly what: string;
  /** Status and code of the agent's next request for the service `granted`. */
  readonly denial: string;
  withdraw(admin: Call): Promise<void>;
  restore(admin: Call): Promise<void>;
}

/** Rules that deny the agent's request, and rules of the same type that allow it. */
const DENYING = [{ type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] }];
const ALLOWING = [{ type: 'ip_allowlist', cidrs: ['127.0.0.0/8', '::1/128'] }];

/**
 * Every way to withdraw the service `granted` from an agent.
 *
 * @param agent that has a grant; restoring a rotation changes its key
 */
export function withdrawals(agent: { readonly id: string; apiKey: string }): readonly Withdrawal[] {
  const path = `/api/agents/${agent.id}`;
  const target = { targetType: 'agent', targetId: agent.id };
  const change = async (admin: Call, method: string, to: string, body?: object): Promise<string> => {
    const answer = await admin(method, to, { body });
    if (answer.status >= 300) throw new Error(`${method} ${to} answered ${answer.status}: ${answer.text}`);
    return answer.text;
  };
  const make = async (admin: Call, rules: readonly object[]): Promise<string> => {
    const text = await change(admin, 'POST', '/api/policies', { name: 'a condition', rules });
    const { id } = JSON.parse(text) as { id: string };
    await change(admin, 'POST', `/api/policies/${id}/attachments`, target);
    return id;
  };
  /** A policy that stays attached from the first call on. */
  const changed = (taken: object, given: object): Pick<Withdrawal, 'withdraw' | 'restore'> => {
    let made: Promise<string> | undefined;
    const to = (changes: object) => async (admin: Call) => {
      made ??= make(admin, ALLOWING);
      await change(admin, 'PATCH', `/api/policies/${await made}`, changes);
    };
    return { withdraw: to(taken), restore: to(given) };
  };
  let policy = '';
  let nextKey = '';
  return [
    {
      what: 'suspend',
      denial: '403 AGENT_INACTIVE',
      withdraw: async (admin) => void (await change(admin, 'POST', `${path}/suspend`)),
      restore: async (admin) => void (await change(admin, 'POST', `${path}/resume`)),
    },
    {
      what: 'revoke',
      denial: '404 NO_GRANT',
      withdraw: async (admin) => void (await change(admin, 'DELETE', `${path}/grants/granted`)),
      restore: async (admin) =>
        void (await change(admin, 'POST', `${path}/grants`, { allowMissing: true, serviceName: 'granted' })),
    },
    {
      what: 'lock',
      denial: '423 VAULT_LOCKED',
      withdraw: async (admin) => void (await change(admin, 'POST', '/api/vault/lock')),
      restore: async (admin) => void (await change(admin, 'POST', '/api/vault/unlock')),
    },
    {
      what: 'rotate the key',
      denial: '403 INVALID_KEY',
      withdraw: async (admin) => {
        const text = await change(admin, 'POST', `${path}/rotate-key`);
        nextKey = (JSON.parse(text) as { apiKey: string }).apiKey;
      },
      restore: async () => {
        agent.apiKey = nextKey;
      },
    },
    {
      what: 'attach a policy',
      denial: '403 POLICY_DENIED',
      withdraw: async (admin) => {
        policy = await make(admin, [{ type: 'manual_approval' }]);
      },
      restore: async (admin) => void (await change(admin, 'DELETE', `/api/policies/${policy}`)),
    },
    {
      what: 'change the rules of a policy',
      denial: '403 POLICY_DENIED',
      ...changed({ rules: DENYING }, { rules: ALLOWING }),
    },
    {
      what: 'enable a policy',
      denial: '403 POLICY_DENIED',
      ...changed({ enabled: true, rules: DENYING }, { enabled: false }),
    },
  ];
}
