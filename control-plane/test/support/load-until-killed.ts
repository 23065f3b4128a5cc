import { Agent } from 'node:http';
import { type Outcome, askOnce } from './ask-once.ts';

/** What one caller saw: it asks again and again, one request at a time, until the service is gone. */
export interface CallerReport {
  /** Answers for the service that is granted. */
  readonly granted: Outcome[];
  /** Services without a grant that it was refused; each name is asked for once, ever. */
  readonly refused: string[];
  /** Answers that a limit of the service gave, whatever was asked for. */
  limited: number;
  /** The request that got no answer any more, by the name that it asked for. */
  readonly lost: string;
}

/** What a granted service may be answered: with a ticket, or a policy's denial. */
const EXPECTED: ReadonlySet<Outcome> = new Set(['307', '403 POLICY_DENIED', '429 POLICY_DENIED']);

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
    const report = { granted: [] as Outcome[], refused: [] as string[], limited: 0 };
    for (let turn = 0; ; turn++) {
      const serviceName = turn % 2 === 0 ? granted : `unheard-of-${round}-${caller}-${turn}`;
      const outcome = await askOnce(url, { apiKey, serviceName, agent });
      if (outcome === undefined) return { ...report, lost: serviceName };
      if (outcome === '429 RATE_LIMITED') report.limited++;
      else if (serviceName === granted && EXPECTED.has(outcome)) report.granted.push(outcome);
      else if (serviceName !== granted && outcome === '404 NO_GRANT') report.refused.push(serviceName);
      else throw new Error(`an answer that nobody expected under load: ${outcome} to ${serviceName}`);
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
