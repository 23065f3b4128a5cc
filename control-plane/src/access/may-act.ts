import type { ProxySubject } from './proxy-access-store.ts';

/** The agent that a proxy acts for must be active. */
export const mayAct = ({ agentId, agentStatus }: ProxySubject): boolean =>
  agentId === null || agentStatus === 'active';
