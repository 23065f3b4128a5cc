import type { AgentStatus } from '../api/queries.ts';

const NAMES: Readonly<Record<AgentStatus, string>> = {
  active: 'Active',
  suspended: 'Suspended',
  deleted: 'Deleted',
};

/** The status of an agent, in words. */
export const Status = ({ of }: { readonly of: AgentStatus }) => (
  <span className={of === 'active' ? 'text-good' : 'text-warn'}>{NAMES[of]}</span>
);
