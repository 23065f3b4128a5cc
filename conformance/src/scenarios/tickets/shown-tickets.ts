import type { TicketOp, WebhookErrorCode } from '@svault/shared';
import type { WebhookCheck } from '../../check/check.ts';
import { variantsAtOnce } from '../../check/each-variant.ts';
import { expectRefusal } from '../../check/expect.ts';
import type { TicketDeviation } from '../../forge/ticket.ts';
import type { Answer, RequestToSend } from '../../http/client.ts';
import type { Tools } from '../../check/tools.ts';

/** A ticket with a deviation; or the text of one that was tampered with. */
export type Shown = TicketDeviation | string;
type Described = Pick<WebhookCheck, 'id' | 'title' | 'requirements'>;

/** How a ticket is shown at an endpoint, and how a right one is answered, so that nothing has to be stored first. */
interface Endpoint {
  readonly taken: WebhookErrorCode;
  request(tools: Tools, ticket: string): RequestToSend;
}

const ENDPOINTS: Readonly<Record<TicketOp, Endpoint>> = {
  // For a name that nothing is stored under.
  credential: {
    taken: 'NOT_FOUND',
    request: (_, ticket) => ({ method: 'GET', path: `/v1/credential?ticket=${encodeURIComponent(ticket)}` }),
  },
  // With a body that says nothing.
  store: {
    taken: 'INVALID_REQUEST',
    request: (_, ticket) => ({
      method: 'POST',
      path: '/v1/store',
      headers: [
        ['authorization', `Bearer ${ticket}`],
        ['content-type', 'application/json'],
      ],
      body: '{}',
    }),
  },
  // Of a proxy that is not there.
  proxy: {
    taken: 'NOT_FOUND',
    request: (tools, ticket) =>
      tools.sign({ method: 'POST', path: '/v1/proxy', headers: [['sv-ticket', ticket]] }),
  },
};
/** Where a ticket is used up: a `proxy` ticket is not (TIX-38). */
export const USED_UP: readonly TicketOp[] = ['credential', 'store'];
const ALL: readonly TicketOp[] = ['credential', 'store', 'proxy'];

/** Where tickets of one operation are shown. */
export interface Place {
  readonly op: TicketOp;
  readonly target: Tools['target'];
  /** A ticket for a name of its own, right or with a deviation. */
  ticket(deviation?: TicketDeviation): string;
  show(shown: Shown): Promise<Answer>;
  /** @throws CheckFailed unless the ticket was accepted */
  expectTaken(answer: Answer): void;
}

/** An endpoint that takes tickets. */
export function placeOf(tools: Tools, op: TicketOp): Place {
  const { request, taken } = ENDPOINTS[op];
  const ticket: Place['ticket'] = (deviation = {}) => {
    const ofProxy = op === 'proxy' ? { prx: tools.freshProxyId(), htm: 'POST' } : {};
    return tools.ticket(op, tools.freshName(), { ...deviation, claims: { ...ofProxy, ...deviation.claims } });
  };
  return {
    op,
    target: tools.target,
    ticket,
    show: (shown) => tools.send(request(tools, typeof shown === 'string' ? shown : ticket(shown))),
    expectTaken: (answer) => expectRefusal(answer, taken),
  };
}

/** Those of some endpoints that the webhook has, by their paths. */
export function atEachEndpoint(
  tools: Tools,
  ops: readonly TicketOp[] = ALL,
): Readonly<Record<string, Place>> {
  const there = ops.filter((op) => tools.claims.has(op));
  return Object.fromEntries(there.map((op) => [`/v1/${op}`, placeOf(tools, op)]));
}

/** A check that each of some tickets is refused wherever one is shown. @param tickets by what is wrong with them */
export function refusesTickets(
  described: Described,
  tickets: (place: Place) => Readonly<Record<string, Shown>>,
  ops?: readonly TicketOp[],
): WebhookCheck {
  return atAll(described, tickets, ops, (answer) => expectRefusal(answer, 'TICKET_INVALID'));
}

/** A check that each of some tickets is accepted wherever one is shown. @param tickets by what is unusual about them */
export function takesTickets(
  described: Described,
  tickets: (place: Place) => Readonly<Record<string, Shown>>,
  ops?: readonly TicketOp[],
): WebhookCheck {
  return atAll(described, tickets, ops, (answer, place) => place.expectTaken(answer));
}

function atAll(
  described: Described,
  tickets: (place: Place) => Readonly<Record<string, Shown>>,
  ops: readonly TicketOp[] | undefined,
  expects: (answer: Answer, place: Place) => void,
): WebhookCheck {
  return {
    ...described,
    claims: ['credential'],
    run: (tools) =>
      variantsAtOnce(
        Object.fromEntries(
          Object.entries(atEachEndpoint(tools, ops)).flatMap(([path, place]) =>
            Object.entries(tickets(place))
              .filter(([, shown]) => place.op === 'credential' || !isUnsendable(shown))
              .map(([what, shown]) => [`${what}, at ${path}`, { shown, place }]),
          ),
        ),
        async ({ shown, place }) => expects(await place.show(shown), place),
      ),
  };
}

/** A header field's value has neither line feeds nor spaces at its end. */
const isUnsendable = (shown: Shown): boolean => typeof shown === 'string' && /\s/.test(shown);
