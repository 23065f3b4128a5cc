import { Agent, request } from 'node:http';
import { pathFor } from './pair-agents.ts';

/** One request and what came of it; times by `performance.now()`. */
export interface Ask {
  readonly service: string;
  readonly sentAt: number;
  readonly answeredAt: number;
  /** Undefined where the connection broke: it may have been decided or not. */
  readonly status: number | undefined;
}

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
    const status = await statusOf(url + pathFor(service), apiKey, agent);
    asks.push({ service, sentAt, answeredAt: performance.now(), status });
    if (status === undefined) await new Promise((resolve) => setTimeout(resolve, AFTER_A_BREAK_MS));
  }
  agent.destroy();
  return asks;
}

function statusOf(url: string, apiKey: string, agent: Agent): Promise<number | undefined> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const sent = request(url, { agent, headers, timeout: TIMEOUT_MS }, (answer) => {
      answer.resume();
      answer.on('error', () => undefined);
      answer.on('close', () => resolve(answer.statusCode));
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(undefined));
    sent.end();
  });
}
