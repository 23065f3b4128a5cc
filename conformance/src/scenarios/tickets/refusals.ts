import { randomBytes } from 'node:crypto';
import type { Check } from '../../check/check.ts';
import { variantsAtOnce } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat, sameOutside } from '../../check/expect.ts';
import type { TicketDeviation } from '../../forge/ticket.ts';
import { withoutItsBody } from '../../forge/held-back.ts';
import type { Answer } from '../../http/client.ts';
import { now } from '../signatures/signed-requests.ts';
import { refusesTickets, show, showAtStore } from './shown-tickets.ts';

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
        expectRefusal(await showAtStore(tools, deviation), 'TICKET_INVALID'),
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
      title: 'a ticket for something else fetches nothing',
      requirements: ['TIX-11', 'TIX-12'],
    },
    () => ({
      'a store ticket': { claims: { op: 'store' } },
      'a proxy ticket': { claims: { op: 'proxy', htm: 'GET', prx: 'prx_conformance' } },
      'an operation that is none': { claims: { op: 'delete' } },
      'in capitals': { claims: { op: 'CREDENTIAL' } },
      'a list': { claims: { op: ['credential'] } },
    }),
  ),
  {
    id: 'ticket.store-lifetime',
    title: 'a store ticket lives for up to 300 seconds and not for 301',
    requirements: ['TIX-16'],
    claims: ['store'],
    run: async (tools) => {
      const living = (seconds: number, from = now()): Promise<Answer> =>
        showAtStore(tools, { claims: { iat: from, exp: from + seconds } });
      expectRefusal(await living(301), 'TICKET_INVALID', '301 seconds');
      expectRefusal(await living(301, now() - 290), 'TICKET_INVALID', '301 seconds, most of them over');
      expectRefusal(await living(0), 'TICKET_INVALID', 'no life');
      expectOk(await living(300));
      expectOk(await living(1));
    },
  },
  refusesTickets(
    { id: 'ticket.doubled', title: 'two ticket parameters are refused', requirements: ['TIX-06'] },
    (tools) => {
      const ticket = (): string => tools.ticket('credential', tools.freshName());
      const twice = ticket();
      return {
        'two tickets': `${ticket()}&ticket=${ticket()}`,
        'the same ticket twice': `${twice}&ticket=${twice}`,
        'an empty one behind it': `${ticket()}&ticket=`,
        'an empty one before it': `&ticket=${ticket()}`,
        'something between them': `${ticket()}&x=1&ticket=${ticket()}`,
      };
    },
  ),
  {
    id: 'ticket.uniform',
    title: 'every refusal of a ticket is the same bytes',
    requirements: ['TIX-31'],
    claims: ['credential'],
    run: async (tools) => {
      const forged = await show(tools, { secret: randomBytes(32) });
      const expectSame = (other: Answer): void =>
        expectThat(sameOutside(forged, other), other, 'the bytes that a forged ticket is answered with');
      const others = {
        ...WRONG,
        'too old': stale(),
        'from the future': early(),
        'for something else': { claims: { op: 'store' } },
        'without a refresh policy': { claims: { rfp: undefined } },
        'with a fourth header member': { header: { x: 1 } },
        'no ticket at all': 'x',
        nothing: '',
      };
      await variantsAtOnce(others, async (shown) => expectSame(await show(tools, shown)));
      const used = tools.ticket('credential', tools.freshName());
      await tools.fetchCredential(used);
      expectSame(await tools.fetchCredential(used));
      if (!tools.claims.has('store')) return;
      const atStore = await showAtStore(tools, { secret: randomBytes(32) });
      await variantsAtOnce({ ...WRONG, 'too old': stale() }, async (deviation) => {
        const other = await showAtStore(tools, deviation);
        expectThat(
          sameOutside(atStore, other),
          other,
          'the bytes that a forged store ticket is answered with',
        );
      });
    },
  },
];
