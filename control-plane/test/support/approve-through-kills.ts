import { AdminRefused } from '@svault/compose/admin-client';
import type { Pair } from '@svault/compose/pair';
import { pathFor } from './pair-agents.ts';
import type { StoredState } from './stored-state.ts';
import { uniqueName } from './unique-name.ts';

export const HELD_BACK = 'github';

/** What is known of the one request of an agent. */
export interface ApprovalReport {
  agentId: string | undefined;
  apiKey: string;
  /** An answer named the approval. */
  approvalId: string | undefined;
  /** The decision was answered 200. */
  isApproved: boolean;
  /** Tickets that were answered. */
  tickets: number;
}

const WORKERS = 4;
/** Of each agent, for one approval, beside one that waits for it. */
const USES = 2;

/**
 * Has requests asked, waited for, approved and used until the control plane is killed with SIGKILL.
 *
 * @param afterAnswers the kill follows so many answers
 * @returns what was known of each agent's request then
 */
export async function approveUntilKilled(
  pair: Pair,
  afterAnswers: number,
): Promise<readonly ApprovalReport[]> {
  const reports: ApprovalReport[] = [];
  const waiting: Promise<void>[] = [];
  let answers = 0;
  let killed: Promise<unknown> | undefined;
  const answered = <T>(answer: T): T => {
    answers += 1;
    if (answers >= afterAnswers && killed === undefined) {
      const instantMs = Math.random() * 5;
      killed = new Promise((resolve) => setTimeout(resolve, instantMs)).then(() =>
        pair.process('control-plane').kill(),
      );
    }
    return answer;
  };
  const use = async (report: ApprovalReport, query = ''): Promise<void> => {
    if (answered(await ask(pair, report, query)).status === 307) report.tickets += 1;
  };
  const approveOne = async (): Promise<void> => {
    const report: ApprovalReport = {
      ...{ agentId: undefined, apiKey: '', approvalId: undefined, isApproved: false, tickets: 0 },
    };
    reports.push(report);
    const { agent, apiKey } = answered(
      await pair.admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', {
        name: uniqueName('caller'),
      }),
    );
    Object.assign(report, { agentId: agent.id, apiKey });
    await pair.admin.call('POST', `/api/agents/${agent.id}/grants`, { serviceName: HELD_BACK });
    report.approvalId = answered(await ask(pair, report)).approvalId;
    // Answered with the decision; one that others overtake waits for another, until the kill.
    waiting.push(use(report, '&wait=30').catch(onlyIfCut));
    await pair.admin.call('POST', `/api/approvals/${report.approvalId}/approve`);
    answered((report.isApproved = true));
    await Promise.all(Array.from({ length: USES }, () => use(report)));
  };
  const work = async (): Promise<void> => {
    for (;;) await approveOne().catch(unlessBusy);
  };
  await Promise.all(Array.from({ length: WORKERS }, () => work().catch(onlyIfCut)));
  await Promise.all([killed, ...waiting]);
  return reports;
}

async function ask(
  { controlPlaneUrl }: Pair,
  { apiKey }: ApprovalReport,
  query = '',
): Promise<{ readonly status: number; readonly approvalId: string | undefined }> {
  const answer = await fetch(controlPlaneUrl + pathFor(HELD_BACK) + query, {
    headers: { authorization: `Bearer ${apiKey}` },
    redirect: 'manual',
  });
  const { approval } = (await answer.json()) as { approval?: { id: string } };
  return { status: answer.status, approvalId: approval?.id };
}

/** What `fetch` throws where the connection broke. */
function onlyIfCut(error: unknown): void {
  if (!(error instanceof TypeError)) throw error;
}

/** A database on a busy machine may be: nothing is known then, as after a kill. */
function unlessBusy(error: unknown): void {
  if (!(error instanceof AdminRefused && error.status === 503)) throw error;
}

/**
 * Deletes the agents, once it has looked.
 *
 * @param pair runs again
 * @returns what was used twice or lost; empty where nothing was
 */
export async function faultsOf(
  pair: Pair,
  state: StoredState,
  reports: readonly ApprovalReport[],
): Promise<readonly string[]> {
  const found = await Promise.all(reports.map((report) => faultsIn(pair, state, report)));
  return found.flat();
}

async function faultsIn(pair: Pair, state: StoredState, report: ApprovalReport): Promise<readonly string[]> {
  const { agentId, approvalId, isApproved } = report;
  if (agentId === undefined) return [];
  const faults: string[] = [];
  if (isApproved && (await ask(pair, report)).status === 307) report.tickets += 1;
  const logged = await state.value(
    `SELECT count(*) FROM audit_events
     WHERE event_type = 'AGENT_CREDENTIAL_ACCESS' AND outcome = 'success' AND agent_id = ?`,
    agentId,
  );
  const uses = Number(logged);
  if (uses > 1 || report.tickets > uses) faults.push(`${agentId}: ${report.tickets} tickets, ${uses} uses`);
  if (isApproved && uses !== 1) faults.push(`${agentId}: approved, and used ${uses} times`);
  if (approvalId !== undefined) {
    const { status, used } = await pair.admin.call<{ status: string; used: number }>(
      ...(['GET', `/api/approvals/${approvalId}`] as const),
    );
    const expected = used === 1 ? ['used'] : isApproved ? [] : ['pending', 'approved'];
    if (used !== uses || !expected.includes(status))
      faults.push(`${approvalId}: ${status}, used ${used} times, ${uses} in the log`);
  }
  await pair.admin.call('DELETE', `/api/agents/${agentId}`);
  return faults;
}
