import { expectOk, expectThat } from './expect.ts';
import type { TicketDeviation } from '../forge/ticket.ts';
import type { Answer } from '../http/client.ts';
import type { Tools } from './tools.ts';

/** A delivered credential: what is inside `{ token }` of protocol section 5.4. */
export interface Delivered {
  readonly answer: Answer;
  readonly token: Readonly<Record<string, unknown>>;
}

/**
 * The envelope in an answer of `/v1/credential`.
 * @param what which of several variants was tried, as the report prints it after "for"
 * @throws CheckFailed
 */
export function deliveredIn(answer: Answer, what?: string): Delivered {
  const { token } = expectOk(answer);
  expectThat(
    typeof token === 'object' && token !== null && !Array.isArray(token),
    answer,
    `an envelope { token: { … } }${what === undefined ? '' : ` for ${what}`}`,
  );
  return { answer, token: token as Record<string, unknown> };
}

/** Fetches a record with a ticket of its own and expects it to be delivered. @throws CheckFailed */
export async function expectDelivered(
  tools: Tools,
  name: string,
  options: { readonly claims?: TicketDeviation['claims']; readonly what?: string } = {},
): Promise<Delivered> {
  const { claims, what } = options;
  const ticket = tools.ticket('credential', name, claims && { claims });
  return deliveredIn(await tools.fetchCredential(ticket), what);
}
