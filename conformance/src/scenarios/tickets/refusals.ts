import { randomBytes } from 'node:crypto';
import type { Check } from '../../check/check.ts';
import { variantsAtOnce } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat, sameOutside } from '../../check/expect.ts';
import type { TicketDeviation } from '../../forge/ticket.ts';
import { withoutItsBody } from '../../forge/held-back.ts';
import type { Answer } from '../../http/client.ts';
import { now } from '../signatures/signed-requests.ts';
import { atEachEndpoint, placeOf, refusesTickets, USED_UP, type Shown } from './shown-tickets.ts';

/** A body that `/v1/store` takes. */
const TEXT = { tokenType: 'PlainText', value: 'svault-conformance' };

/** Ways in which a ticket can be wrong. */
const WRONG: Readonly<Record<string, TicketDeviation>> = {
  'signed with another key': { secret: randomBytes(32) },
  'of no algorithm': { header: { alg: 'none' } },
  'for another webhook': { claims: { aud: 'whk_another' } },
  'of another service': { claims: { iss: 'https://another.example' } },
  'without a jti': { claims: { jti: undefined } },
  'of another kind of subject': { claims: { sub: 'svc_conformance' } },
};
const stale = (): TicketDeviation => ({ claims: { iat: now() - 100, exp: now() - 40 } });
const early = (): TicketDeviation => ({ claims: { iat: now() + 50, exp: now() + 60 } });

/** Protocol section 4: which operation a ticket authorizes. */
export const TICKET_CHECKS: readonly Check[] = [
  {
    id: 'ticket.missing',
    title: 'a request without a ticket is refused',
    requirements: ['TIX-31'],
    claims: ['credential'],
    run: (tools) => {
      const get = (query: string, headers: readonly (readonly [string, string])[] = []): Promise<Answer> =>
        tools.send({ method: 'GET', path: `/v1/credential${query}`, headers });
      return variantsAtOnce(
        {
          'no ticket': () => get(''),
          'an empty ticket': () => get('?ticket='),
          'an empty bearer': () => get('', [['authorization', 'Bearer']]),
          'another scheme': () => get('', [['authorization', 'Basic YTpi']]),
        },
        async (sent) => expectRefusal(await sent(), 'TICKET_INVALID'),
      );
    },
  },
  {
    id: 'ticket.store-door',
    title: 'POST /v1/store refuses every ticket that does not verify',
    requirements: ['TIX-08', 'TIX-09', 'TIX-17', 'TIX-18', 'TIX-27', 'TIX-29', 'TIX-31'],
    claims: ['store'],
    run: (tools) =>
      variantsAtOnce({ ...WRONG, 'too old': stale(), 'from the future': early() }, async (deviation) =>
        expectRefusal(await tools.store(tools.freshName(), TEXT, deviation), 'TICKET_INVALID'),
      ),
  },
  {
    id: 'ticket.head-first',
    title: 'POST /v1/store refuses a ticket that does not verify before the body has come',
    requirements: ['TIX-44'],
    claims: ['store'],
    run: async (tools) => {
      const ticket = tools.ticket('store', tools.freshName(), { secret: randomBytes(32) });
      const request = { method: 'POST', path: '/v1/store' } as const;
      const headers = [
        ['authorization', `Bearer ${ticket}`],
        ['content-type', 'application/json'],
      ] as const;
      const head = withoutItsBody({ ...request, headers }, 'TIX-44');
      expectRefusal(await tools.send(head), 'TICKET_INVALID');
    },
  },
  refusesTickets(
    {
      id: 'ticket.other-operation',
      title: 'a ticket for something else is refused',
      requirements: ['TIX-11', 'TIX-12'],
    },
    ({ op: right }) => {
      const others = {
        credential: { gnt: 'grt_conformance', rfp: 'none' },
        store: {},
        proxy: { htm: 'POST', prx: 'prx_conformance' },
      };
      const wrong = Object.entries(others).filter(([op]) => op !== right);
      return {
        ...Object.fromEntries(wrong.map(([op, claims]) => [`a ${op} ticket`, { claims: { ...claims, op } }])),
        'an operation that is none': { claims: { op: 'delete' } },
        'in capitals': { claims: { op: right.toUpperCase() } },
        'a list': { claims: { op: [right] } },
      };
    },
  ),
  {
    id: 'ticket.store-lifetime',
    title: 'a store ticket lives for up to 300 seconds and not for 301',
    requirements: ['TIX-16'],
    claims: ['store'],
    run: async (tools) => {
      const living = (seconds: number, from = now()): Promise<Answer> =>
        tools.store(tools.freshName(), TEXT, { claims: { iat: from, exp: from + seconds } });
      expectRefusal(await living(301), 'TICKET_INVALID', '301 seconds');
      expectRefusal(await living(301, now() - 290), 'TICKET_INVALID', '301 seconds, most of them over');
      expectRefusal(await living(0), 'TICKET_INVALID', 'no life');
      expectOk(await living(300));
      expectOk(await living(1));
    },
  },
  {
    id: 'ticket.doubled',
    title: 'two ticket parameters are refused',
    requirements: ['TIX-06'],
    claims: ['credential'],
    run: (tools) => {
      const { ticket } = placeOf(tools, 'credential');
      const twice = ticket();
      const queries = {
        'two tickets': `ticket=${ticket()}&ticket=${ticket()}`,
        'the same ticket twice': `ticket=${twice}&ticket=${twice}`,
        'an empty one behind it': `ticket=${ticket()}&ticket=`,
        'an empty one before it': `ticket=&ticket=${ticket()}`,
        'something between them': `ticket=${ticket()}&x=1&ticket=${ticket()}`,
      };
      return variantsAtOnce(queries, async (query) =>
        expectRefusal(await tools.send({ method: 'GET', path: `/v1/credential?${query}` }), 'TICKET_INVALID'),
      );
    },
  },
  {
    id: 'ticket.uniform',
    title: 'every refusal of a ticket is the same bytes',
    requirements: ['TIX-31'],
    claims: ['credential'],
    run: (tools) =>
      variantsAtOnce(atEachEndpoint(tools), async (place) => {
        const forged = await place.show({ secret: randomBytes(32) });
        const others: Readonly<Record<string, Shown>> = {
          ...WRONG,
          'too old': stale(),
          'from the future': early(),
          'for something else': { claims: { op: 'none' } },
          'with a fourth header member': { header: { x: 1 } },
          'no ticket at all': 'x',
          nothing: '',
          ...(place.op === 'credential' && { 'without a refresh policy': { claims: { rfp: undefined } } }),
        };
        const expectSame = (other: Answer, what: string): void =>
          expectThat(
            sameOutside(forged, other),
            other,
            `the bytes that a forged ticket is answered with: ${what}`,
          );
        for (const [what, shown] of Object.entries(others)) expectSame(await place.show(shown), what);
        if (!USED_UP.includes(place.op)) return;
        const used = place.ticket();
        place.expectTaken(await place.show(used));
        expectSame(await place.show(used), 'a used ticket');
      }),
  },
];
