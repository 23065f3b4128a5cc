import { Agent } from 'node:http';
import { type Outcome, askOnce } from './ask-once.ts';

/** One request and what came of it; times by `performance.now()`. */
export interface Ask {
  readonly service: string;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly outcome: Outcome | undefined;
}

const AFTER_A_BREAK_MS = 100;

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
    const outcome = await askOnce(url, { apiKey, serviceName: service, agent });
    asks.push({ service, sentAt, answeredAt: performance.now(), outcome });
    if (outcome === undefined) await new Promise((resolve) => setTimeout(resolve, AFTER_A_BREAK_MS));
  }
  agent.destroy();
  return asks;
}
