import type { OwnEvent } from './audit-log.ts';

/** Who did it, under the member by which the log is searched. */
export type Subject = Pick<OwnEvent, 'agentId' | 'proxyId' | 'userId'>;

/** The `sub` of a ticket (protocol section 4: agent, proxy or owner) as the log names it. */
export function subjectOf(sub: string): Subject {
  if (sub.startsWith('agt_')) return { agentId: sub };
  return sub.startsWith('prx_') ? { proxyId: sub } : { userId: sub };
}
