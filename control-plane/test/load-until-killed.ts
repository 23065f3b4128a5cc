import { Agent, request } from 'node:http';
import { pathFor } from './pair-agents.ts';

/** What one caller saw: it asks again and again, one request at a time, until the service is gone. */
export interface CallerReport {
  /** Answered by a ticket. */
  redirected: number;
  /** Refused by a policy. */
  denied: number;
  /** Services without a grant that it was refused; each name is asked for once, ever. */
  readonly refused: string[];
  /** The request that got no answer any more, by the name that it asked for. */
  lost: string | undefined;
}

/**
 * Puts load on the credential endpoint until the service dies of what `onAnswer` does.
 *
 * Each caller has one request in flight, so that of all its accesses only the last one can be written down without
 * having been answered. It alternates between a service that is granted and one that never was heard of.
 *
 * @param callers agent keys, each with a grant for `granted`
 * @param onAnswer told after each answer, with the number of answers so far
 */
export async function loadUntilKilled(
  url: string,
  callers: readonly { readonly apiKey: string; readonly id: string }[],
  options: { readonly granted: string; readonly round: number; readonly onAnswer: (answers: number) => void },
): Promise<ReadonlyMap<string, CallerReport>> {
  const { granted, round, onAnswer } = options;
  const agent = new Agent({ keepAlive: true });
  let answers = 0;
  const run = async (caller: number, apiKey: string): Promise<CallerReport> => {
    const report: CallerReport = { redirected: 0, denied: 0, refused: [], lost: undefined };
    for (let turn = 0; ; turn++) {
      const name = turn % 2 === 0 ? granted : `unheard-of-${round}-${caller}-${turn}`;
      const status = await statusOf(url + pathFor(name), apiKey, agent);
      if (status === undefined) return { ...report, lost: name };
      if (status === 307) report.redirected++;
      else if (status === 403 && name === granted) report.denied++;
      else if (status === 404) report.refused.push(name);
      else throw new Error(`an answer that nobody expected under load: ${status}`);
      onAnswer(++answers);
    }
  };
  try {
    const reports = await Promise.all(
      callers.map(async ({ id, apiKey }, index) => [id, await run(index, apiKey)] as const),
    );
    return new Map(reports);
  } finally {
    agent.destroy();
  }
}

/** @returns undefined where the connection broke before the head of an answer was there */
function statusOf(url: string, apiKey: string, agent: Agent): Promise<number | undefined> {
  return new Promise((resolve) => {
    const sent = request(url, { agent, headers: { authorization: `Bearer ${apiKey}` } }, (answer) => {
      answer.resume();
      answer.on('error', () => undefined);
      // A body that breaks off makes no difference: the decision has been told.
      answer.on('close', () => resolve(answer.statusCode));
    });
    sent.on('error', () => resolve(undefined));
    sent.end();
  });
}
