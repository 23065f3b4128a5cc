import { Agent, request } from 'node:http';
import { pathFor } from './pair-agents.ts';

/** One request and what came of it; times by `performance.now()`. */
export interface Ask {
  readonly service: string;
  readonly sentAt: number;
  readonly answeredAt: number;
  /** Undefined where the connection broke: it may have been decided or not. */
  readonly outcome: Outcome | undefined;
}

/** The status of an answer, and the code of a refusal. */
export type Outcome = `${number}` | `${number} ${string}`;

const AFTER_A_BREAK_MS = 100;
const TIMEOUT_MS = 20_000;

/**
 * Asks one control plane again and again, one request at a time, until told to stop; one that is away is asked again.
 *
 * @param serviceOf the name to ask for, turn by turn
 */
export async function askThroughKills(
  url: string,
  apiKey: string,
  options: { readonly serviceOf: (turn: number) => string; readonly isOver: () => boolean },
): Promise<readonly Ask[]> {
  const agent = new Agent({ keepAlive: true });
  const asks: Ask[] = [];
  for (let turn = 0; !options.isOver(); turn++) {
    const service = options.serviceOf(turn);
    const sentAt = performance.now();
    const outcome = await outcomeOf(url + pathFor(service), apiKey, agent);
    asks.push({ service, sentAt, answeredAt: performance.now(), outcome });
    if (outcome === undefined) await new Promise((resolve) => setTimeout(resolve, AFTER_A_BREAK_MS));
  }
  agent.destroy();
  return asks;
}

function outcomeOf(url: string, apiKey: string, agent: Agent): Promise<Outcome | undefined> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const sent = request(url, { agent, headers, timeout: TIMEOUT_MS }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (part: string) => (body += part));
      answer.on('error', () => undefined);
      // A body that breaks off tells no outcome, and neither does the log have to.
      answer.on('close', () =>
        resolve(answer.complete ? toOutcome(answer.statusCode ?? 0, body) : undefined),
      );
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(undefined));
    sent.end();
  });
}

const toOutcome = (status: number, body: string): Outcome =>
  body === '' ? `${status}` : `${status} ${(JSON.parse(body) as { code: string }).code}`;
