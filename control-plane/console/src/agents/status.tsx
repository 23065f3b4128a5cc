import type { AgentStatus } from '../api/queries.ts';

const NAMES: Readonly<Record<AgentStatus, string>> = {
  active: 'Active',
  suspended: 'Suspended',
  deleted: 'Deleted',
};

/** Whether an agent is let in. */
export const Status = ({ of }: { readonly of: AgentStatus }) => (
  <span className={of === 'active' ? 'text-good' : 'text-warn'}>{NAMES[of]}</span>
);
