import { type Agent, request } from 'node:http';
import { pathFor } from './pair-agents.ts';

/** The status of an answer, and the code of a refusal. */
export type Outcome = `${number}` | `${number} ${string}`;

const TIMEOUT_MS = 20_000;

/**
 * One request for a credential at a service that may be killed meanwhile.
 *
 * @returns undefined where the connection broke before the answer was whole: it may have been decided or not
 */
export function askOnce(
  url: string,
  { apiKey, serviceName, agent }: { apiKey: string; serviceName: string; agent: Agent },
): Promise<Outcome | undefined> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const sent = request(url + pathFor(serviceName), { agent, headers, timeout: TIMEOUT_MS }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (part: string) => (body += part));
      answer.on('error', () => undefined);
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
  status < 400 ? `${status}` : `${status} ${(JSON.parse(body) as { code: string }).code}`;
