import type { Run } from '../invocation.ts';
import { setAgentStatus } from './set-agent-status.ts';

/** `agents resume AGENT` */
export const run: Run<[agent: string]> = (invocation, [reference]) =>
  setAgentStatus(invocation, reference, 'resume');
