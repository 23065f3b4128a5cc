import { z } from 'zod';
import { apiClient } from '../api/api-client.ts';
import { Failure } from '../failure.ts';
import type { Run } from '../invocation.ts';
import { jsonText } from '../output/json-text.ts';
import { plainLine } from '../output/plain-line.ts';
import { printDone } from '../output/print.ts';
import { aboutToken } from './about-token.ts';
import { serviceNameFrom, tokenPath } from './service-name.ts';

const refreshSchema = z.looseObject({ outcome: z.string(), expiryTime: z.string().optional() });

/** `tokens refresh SERVICE` */
export const run: Run<[string]> = async (invocation, [service]) => {
  const name = serviceNameFrom(service);
  const client = await apiClient(invocation);
  const answer = await aboutToken(name, () =>
    client.change({ method: 'POST', path: `${tokenPath(name)}/refresh`, schema: refreshSchema }),
  );
  const said = doneOf(name, answer);
  if (said !== undefined) return printDone(invocation, { said, answer, name });
  if (invocation.flags.format === 'json') invocation.terminal.out(jsonText(answer));
  throw new Failure('failed', problemOf(name, answer.outcome));
};

function doneOf(name: string, { outcome, expiryTime }: z.infer<typeof refreshSchema>): string | undefined {
  switch (outcome) {
    case 'refreshed':
      return `${name} is refreshed${expiryTime === undefined ? '' : `, and holds until ${expiryTime}`}`;
    case 'accepted':
      return `the webhook sees to ${name}; svault show ${name} tells when it is done`;
    default:
      return undefined;
  }
}

function problemOf(name: string, outcome: string): string {
  switch (outcome) {
    case 'failed':
      return `the provider of ${name} gave nothing new, or does not answer; what was there is still there, so try again later`;
    case 'not_refreshable':
      return `${name} cannot be refreshed: it was stored without a provider or without a refresh token`;
    case 'provider_not_configured':
      return `only the service can refresh ${name}, and it has no setting for this provider’s address and client; add one in its console`;
    case 'reauth_needed':
      return `the provider of ${name} takes its refresh token no more: authorise anew there, and store what comes of it by svault set ${name}`;
    default:
      return `${name} is not refreshed: ${plainLine(outcome)}`;
  }
}
