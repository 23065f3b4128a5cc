import type { Run } from '../invocation.ts';
import { setAgentStatus } from './set-agent-status.ts';

/** `agents suspend AGENT` */
export const run: Run<[agent: string]> = (invocation, [reference]) =>
  setAgentStatus(invocation, reference, 'suspend');
