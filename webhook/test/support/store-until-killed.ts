import { randomToken } from '@svault/shared';
import type { BoundWebhook } from './bound-webhook.ts';
import { type ServingProcess, serveProcess } from './run-webhook.ts';

/** What one writer knows of its record: it has one store in flight at a time, each of another value. */
export interface WriterReport {
  readonly serviceName: string;
  /** Stores that were answered 200, in their order. */
  readonly answered: { readonly value: string; readonly version: number }[];
  /** Of the store that was in flight at the kill. */
  inFlight: string | undefined;
}

export const newWriters = (count: number): readonly WriterReport[] =>
  Array.from({ length: count }, () => ({
    serviceName: `written by ${randomToken()}`,
    answered: [],
    inFlight: undefined,
  }));

/**
 * Serves a webhook's data as a process of its own and stores into it until it is killed with SIGKILL.
 *
 * @param webhook bound, and stopped in this process
 * @param options.afterAnswers the kill follows so many answers, within the next store
 */
export async function storeUntilKilled(
  webhook: BoundWebhook,
  writers: readonly WriterReport[],
  options: { readonly afterAnswers: number },
): Promise<void> {
  const serving = await serveProcess(webhook.env);
  let answers = 0;
  let killed: Promise<unknown> | undefined;
  const onAnswer = (): void => {
    answers += 1;
    if (answers < options.afterAnswers || killed !== undefined) return;
    // Somewhere in the time that one store takes, so that over many kills each step of it is hit.
    const instant = Math.random() * 4;
    killed = new Promise((resolve) => setTimeout(resolve, instant)).then(() => serving.end('SIGKILL'));
  };
  await Promise.all(writers.map((writer) => writeOn(webhook, serving, writer, onAnswer)));
  await killed;
}

async function writeOn(
  webhook: BoundWebhook,
  serving: ServingProcess,
  writer: WriterReport,
  onAnswer: () => void,
): Promise<void> {
  for (;;) {
    const value = randomToken();
    writer.inFlight = value;
    const answer = await store(webhook, serving, writer.serviceName, value);
    if (answer === undefined) return;
    if (answer.status !== 200) throw new Error(`a store was answered ${answer.status}`);
    writer.answered.push({ value, version: answer.version });
    onAnswer();
  }
}

/** @returns undefined where the connection broke before the whole answer was there */
async function store(
  webhook: BoundWebhook,
  serving: ServingProcess,
  serviceName: string,
  value: string,
): Promise<{ readonly status: number; readonly version: number } | undefined> {
  setToNow(webhook);
  try {
    const answer = await fetch(`${serving.url}/v1/store`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${webhook.storeTicket(serviceName)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ tokenType: 'PlainText', value }),
    });
    const { version } = (await answer.json()) as { version: number };
    return { status: answer.status, version };
  } catch {
    return undefined;
  }
}

/** The processes run by the machine's clock; tickets are made by the fixture's. */
export function setToNow({ clock }: Pick<BoundWebhook, 'clock'>): void {
  clock.jump(Date.now() - clock.now());
}

/**
 * What is wrong with the records after the webhook started again; empty when nothing answered was lost. The store
 * that was in flight may have happened or not.
 *
 * @param webhook running again in this process; the reports go on from what is found
 */
export async function lossesOf(
  webhook: BoundWebhook,
  writers: readonly WriterReport[],
): Promise<readonly string[]> {
  const losses: string[] = [];
  setToNow(webhook);
  for (const writer of writers) {
    const { serviceName, answered, inFlight } = writer;
    const last = answered.at(-1);
    const found = await webhook.credential(serviceName);
    const value: unknown = found.status === 200 ? found.json.token.accessToken : undefined;
    if (value === last?.value) continue;
    if (value === undefined || value !== inFlight) {
      losses.push(`${serviceName}: neither the last answered value nor the one in flight (${found.status})`);
      continue;
    }
    const { version } = (await webhook.storage({ op: 'tokens.get', serviceName })).json;
    if (version !== (last?.version ?? 0) + 1)
      losses.push(`${serviceName}: version ${version} after ${last?.version}`);
    answered.push({ value: inFlight, version });
  }
  return losses;
}
