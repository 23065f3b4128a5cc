import type { WebhookCheck } from '../../check/check.ts';
import { variantsAtOnce } from '../../check/each-variant.ts';
import { expectRefusal } from '../../check/expect.ts';
import type { TicketDeviation } from '../../forge/ticket.ts';
import type { Answer } from '../../http/client.ts';
import type { Tools } from '../../check/tools.ts';

/** A ticket with a deviation; or the text of one that was tampered with. */
export type Shown = TicketDeviation | string;
type Described = Pick<WebhookCheck, 'id' | 'title' | 'requirements'>;

/**
 * Shows a credential ticket for a name that nothing is stored under: 404 says that the ticket was accepted, 401 that it
 * was not, and nobody has to store anything first.
 */
export function show(tools: Tools, shown: Shown): Promise<Answer> {
  return tools.fetchCredential(
    typeof shown === 'string' ? shown : tools.ticket('credential', tools.freshName(), shown),
  );
}

/** A check that each of some credential tickets is refused. @param tickets by what is wrong with them */
export function refusesTickets(
  described: Described,
  tickets: (tools: Tools) => Readonly<Record<string, Shown>>,
): WebhookCheck {
  return {
    ...described,
    claims: ['credential'],
    run: (tools) =>
      variantsAtOnce(tickets(tools), async (shown) =>
        expectRefusal(await show(tools, shown), 'TICKET_INVALID'),
      ),
  };
}

/** A check that each of some credential tickets is accepted. @param tickets by what is unusual about them */
export function takesTickets(
  described: Described,
  tickets: (tools: Tools) => Readonly<Record<string, Shown>>,
): WebhookCheck {
  return {
    ...described,
    claims: ['credential'],
    run: (tools) =>
      variantsAtOnce(tickets(tools), async (shown) => expectRefusal(await show(tools, shown), 'NOT_FOUND')),
  };
}

/** A body that `/v1/store` takes. */
const TEXT = { tokenType: 'PlainText', value: 'svault-conformance' };

/** Shows a store ticket with a body that `/v1/store` takes. */
export function showAtStore(tools: Tools, deviation: TicketDeviation): Promise<Answer> {
  return tools.store(tools.freshName(), TEXT, deviation);
}
