import type { Call } from './management-service.ts';

/** Something that an owner takes from an agent, and gives back. */
export interface Withdrawal {
  readonly what: string;
  /** What the agent's next request for the service `granted` gets: status and code. */
  readonly refusal: string;
  take(admin: Call): Promise<void>;
  giveBack(admin: Call): Promise<void>;
}

/** Rules of a policy under which the agent's request is denied, and of the same policy under which it is not. */
const DENYING = [{ type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] }];
const ALLOWING = [{ type: 'ip_allowlist', cidrs: ['127.0.0.0/8', '::1/128'] }];

/**
 * Every way to take the service `granted` from an agent at once.
 *
 * @param agent that has a grant; its key is another one after the rotation was given back
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
  /** A policy that stays attached from the first time on. */
  const changed = (taken: object, given: object): Pick<Withdrawal, 'take' | 'giveBack'> => {
    let made: Promise<string> | undefined;
    const to = (changes: object) => async (admin: Call) => {
      made ??= make(admin, ALLOWING);
      await change(admin, 'PATCH', `/api/policies/${await made}`, changes);
    };
    return { take: to(taken), giveBack: to(given) };
  };
  let policy = '';
  let nextKey = '';
  return [
    {
      what: 'suspend',
      refusal: '403 AGENT_INACTIVE',
      take: async (admin) => void (await change(admin, 'POST', `${path}/suspend`)),
      giveBack: async (admin) => void (await change(admin, 'POST', `${path}/resume`)),
    },
    {
      what: 'revoke',
      refusal: '404 NO_GRANT',
      take: async (admin) => void (await change(admin, 'DELETE', `${path}/grants/granted`)),
      giveBack: async (admin) =>
        void (await change(admin, 'POST', `${path}/grants`, { serviceName: 'granted' })),
    },
    {
      what: 'lock',
      refusal: '423 VAULT_LOCKED',
      take: async (admin) => void (await change(admin, 'POST', '/api/vault/lock')),
      giveBack: async (admin) => void (await change(admin, 'POST', '/api/vault/unlock')),
    },
    {
      what: 'a key that is rotated',
      refusal: '403 INVALID_KEY',
      take: async (admin) => {
        const text = await change(admin, 'POST', `${path}/rotate-key`);
        nextKey = (JSON.parse(text) as { apiKey: string }).apiKey;
      },
      giveBack: async () => {
        agent.apiKey = nextKey;
      },
    },
    {
      what: 'a policy that is attached',
      refusal: '403 POLICY_DENIED',
      take: async (admin) => {
        policy = await make(admin, [{ type: 'manual_approval' }]);
      },
      giveBack: async (admin) => void (await change(admin, 'DELETE', `/api/policies/${policy}`)),
    },
    {
      what: 'a policy whose rules change',
      refusal: '403 POLICY_DENIED',
      ...changed({ rules: DENYING }, { rules: ALLOWING }),
    },
    {
      what: 'a policy that is switched on',
      refusal: '403 POLICY_DENIED',
      ...changed({ enabled: true, rules: DENYING }, { enabled: false }),
    },
  ];
}
