import Database from 'better-sqlite3';
import { join } from 'node:path';
import { newId, signRequest, utf8 } from '@svault/shared';
import { CREDENTIAL, ask, decide } from './approvals.ts';
import type { SoftwarePasskey } from '@svault/shared/software-passkey';
import type { BoundWebhook } from './bound-webhook.ts';
import { serveProcess } from './run-webhook.ts';
import { setToNow } from './store-until-killed.ts';

/** What an agent knows of its one request. */
export interface AgentReport {
  readonly sub: string;
  /** The approval was answered 200. */
  isApproved: boolean;
  /** Uses that were answered 200. */
  delivered: number;
  /** A use was under way at the kill, so that it may have been made. */
  isUsing: boolean;
}

const WORKERS = 4;
/** Of each agent at a time, for one approval. */
const USES = 3;

/**
 * Serves a webhook's data as a process of its own, and has requests approved and used until it is killed with SIGKILL.
 *
 * @param webhook bound, and stopped in this process
 * @param afterAnswers the kill follows so many answers
 */
export async function approveUntilKilled(
  webhook: BoundWebhook,
  passkey: SoftwarePasskey,
  afterAnswers: number,
): Promise<readonly AgentReport[]> {
  const serving = await serveProcess(webhook.env);
  const served = callsTo(serving.url, webhook);
  const reports: AgentReport[] = [];
  let answers = 0;
  let killed: Promise<unknown> | undefined;
  const answered = <T>(answer: T): T => {
    answers += 1;
    if (answers >= afterAnswers && killed === undefined) {
      const instant = Math.random() * 4;
      killed = new Promise((resolve) => setTimeout(resolve, instant)).then(() => serving.end('SIGKILL'));
    }
    return answer;
  };

  const useOnce = async (report: AgentReport): Promise<void> => {
    const answer = answered(
      await served.send(`/v1/credential?ticket=${webhook.credentialTicket('api', { sub: report.sub })}`),
    );
    if (answer.status === 200) report.delivered += 1;
  };
  const work = async (): Promise<void> => {
    for (;;) {
      const report = { sub: newId('agt'), isApproved: false, delivered: 0, isUsing: false };
      reports.push(report);
      setToNow(webhook);
      const { json, text } = answered(await ask(served, CREDENTIAL, { sub: report.sub }));
      if (json.id === undefined) throw new Error(`it could not be asked: ${text}`);
      const { status } = answered(await decide(served, json.id, passkey));
      if (status !== 200) throw new Error(`a decision was answered ${status}`);
      report.isApproved = true;
      report.isUsing = true;
      await Promise.all(Array.from({ length: USES }, () => useOnce(report)));
      report.isUsing = false;
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, () => work().catch(onlyIfCut)));
  await killed;
  return reports;
}

const readAnswer = async (answer: Response) => ({
  status: answer.status,
  headers: answer.headers,
  text: await answer.text(),
});

/** As `BoundWebhook` calls the one that runs in this process. */
function callsTo(url: string, { env, key, clock }: BoundWebhook): Pick<BoundWebhook, 'send' | 'signed'> {
  const send: BoundWebhook['send'] = async (path, init) => {
    const { status, headers, text } = await readAnswer(await fetch(url + path, init));
    return { status, headers, text, json: JSON.parse(text) };
  };
  const signed: BoundWebhook['signed'] = (path, body) => {
    const text = JSON.stringify(body);
    const authority = new URL(env['SV_WEBHOOK_URL'] ?? '').host;
    const nowMs = clock.now();
    const headers = signRequest({ method: 'POST', authority, path, body: utf8(text), key, nowMs });
    return send(path, { method: 'POST', headers, body: text });
  };
  return { send, signed };
}

/** What `fetch` throws where the connection broke. */
function onlyIfCut(error: unknown): void {
  if (!(error instanceof TypeError)) throw error;
}

/** @param webhook which runs again in this process. @returns what was used twice or lost; empty where nothing was */
export async function faultsOf(
  webhook: BoundWebhook,
  reports: readonly AgentReport[],
): Promise<readonly string[]> {
  setToNow(webhook);
  for (const report of reports) {
    if ((await webhook.credential('api', { sub: report.sub })).status === 200) report.delivered += 1;
  }
  const db = new Database(join(webhook.dataDir, 'webhook.db'), { readonly: true });
  const logged = db
    .prepare<[string], number>(
      `SELECT count(*) FROM audit_log WHERE event_type = 'CREDENTIAL_DELIVERED' AND outcome = 'success' AND agent_id = ?`,
    )
    .pluck();
  const faults = reports.flatMap(({ sub, isApproved, delivered, isUsing }) => {
    const uses = logged.get(sub) ?? 0;
    if (uses > 1 || delivered > uses) return [`${sub}: used ${uses} times, answered ${delivered} times`];
    // Where a use was under way it may have been made, and its answer lost.
    return isApproved && uses === 0 ? [`${sub}: approved, and lost; under way: ${isUsing}`] : [];
  });
  db.close();
  return faults;
}
