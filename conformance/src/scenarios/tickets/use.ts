import { randomBytes } from 'node:crypto';
import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { variantsAtOnce } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { TicketDeviation } from '../../forge/ticket.ts';
import { now } from '../signatures/signed-requests.ts';
import { atEachEndpoint, USED_UP } from './shown-tickets.ts';

/** How often one ticket is shown at once. */
const AT_ONCE = 10;

/** Protocol section 4: each ticket once. */
export const TICKET_USE_CHECKS: readonly Check[] = [
  {
    id: 'ticket.single-use',
    title: 'a ticket delivers once',
    requirements: ['TIX-32'],
    claims: ['credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const ticket = tools.ticket('credential', name);
      expectOk(await tools.fetchCredential(ticket));
      expectRefusal(await tools.fetchCredential(ticket), 'TICKET_INVALID');
      expectRefusal(await tools.fetchCredential(ticket), 'TICKET_INVALID');
    },
  },
  {
    id: 'ticket.single-use-at-once',
    title: 'a ticket used ten times at once delivers once',
    requirements: ['TIX-32'],
    claims: ['credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const ticket = tools.ticket('credential', name);
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => tools.fetchCredential(ticket)));
      const [delivered, ...again] = answers.filter(({ status }) => status === 200);
      for (const answer of again) expectThat(false, answer, '401: the ticket was delivered on already');
      for (const answer of answers) if (answer !== delivered) expectRefusal(answer, 'TICKET_INVALID');
      const [first] = answers;
      if (first !== undefined && delivered === undefined) expectThat(false, first, '200 for one of the ten');
    },
  },
  {
    id: 'ticket.used-in-another-place',
    title: 'a ticket that was used in the query is used as a bearer too, and the other way round',
    requirements: ['TIX-32'],
    claims: ['credential'],
    run: async (tools) => {
      const asBearer = (ticket: string): ReturnType<typeof tools.send> =>
        tools.send({
          method: 'GET',
          path: '/v1/credential',
          headers: [['authorization', `Bearer ${ticket}`]],
        });
      const [one, other] = [
        tools.ticket('credential', tools.freshName()),
        tools.ticket('credential', tools.freshName()),
      ];
      expectRefusal(await tools.fetchCredential(one), 'NOT_FOUND');
      expectRefusal(await asBearer(one), 'TICKET_INVALID');
      expectRefusal(await asBearer(other), 'NOT_FOUND');
      expectRefusal(await tools.fetchCredential(other), 'TICKET_INVALID');
    },
  },
  {
    id: 'ticket.used-id',
    title: 'a jti that was used is refused with whatever else the ticket says',
    requirements: ['TIX-32'],
    claims: ['credential'],
    run: (tools) =>
      variantsAtOnce(atEachEndpoint(tools, USED_UP), async ({ op, show, expectTaken }) => {
        const jti = randomToken();
        expectTaken(await show({ claims: { jti } }));
        const others: Readonly<Record<string, TicketDeviation>> = {
          'another name': { claims: { jti } },
          'another subject': { claims: { jti, sub: op === 'store' ? 'agt_conformance' : 'usr_conformance' } },
          'other times': { claims: { jti, iat: now() - 5, exp: now() + 20 } },
          ...(op === 'credential' && { 'another refresh policy': { claims: { jti, rfp: 'auto' } } }),
        };
        for (const [what, shown] of Object.entries(others))
          expectRefusal(await show(shown), 'TICKET_INVALID', what);
      }),
  },
  {
    id: 'ticket.other-id',
    title: 'ticket ids that differ in one letter, or in its case, are two',
    requirements: ['TIX-32'],
    claims: ['credential'],
    run: (tools) =>
      variantsAtOnce(atEachEndpoint(tools), async ({ show, expectTaken }) => {
        const long = randomToken(48).slice(1);
        const small = randomToken(16).toLowerCase();
        for (const jti of [`${long}A`, `${long}B`, small, small.toUpperCase()])
          expectTaken(await show({ claims: { jti } }));
      }),
  },
  {
    id: 'ticket.used-after-expiry',
    title: 'a used ticket is remembered as long as it could be accepted, for 30 seconds after it expired too',
    requirements: ['TIX-35'],
    claims: ['credential'],
    run: (tools) =>
      variantsAtOnce(atEachEndpoint(tools, USED_UP), async ({ show, ticket, expectTaken }) => {
        const times = {
          'expired 24 seconds ago': { iat: now() - 80, exp: now() - 24 },
          'issued 25 seconds ahead': { iat: now() + 25, exp: now() + 85 },
        };
        for (const [what, claims] of Object.entries(times)) {
          const used = ticket({ claims });
          expectTaken(await show(used));
          expectRefusal(await show(used), 'TICKET_INVALID', what);
        }
      }),
  },
  {
    id: 'ticket.used-up-by-404',
    title: 'a ticket for a name that is not stored is used up by its 404',
    requirements: ['TIX-33', 'CRE-08'],
    claims: ['credential'],
    run: async (tools) => {
      const ticket = tools.ticket('credential', tools.freshName());
      expectRefusal(await tools.fetchCredential(ticket), 'NOT_FOUND');
      expectRefusal(await tools.fetchCredential(ticket), 'TICKET_INVALID');
    },
  },
  {
    id: 'ticket.forgery-uses-nothing-up',
    title: 'a ticket that does not verify uses nothing up',
    requirements: ['TIX-34'],
    claims: ['credential'],
    run: (tools) =>
      variantsAtOnce(atEachEndpoint(tools), async ({ op, show, expectTaken }) => {
        const wrong: Readonly<Record<string, TicketDeviation>> = {
          'a forged one': { secret: randomBytes(32) },
          'one of another webhook': { claims: { aud: 'whk_another' } },
          'one that is too old': { claims: { iat: now() - 400, exp: now() - 340 } },
          'one for something else': { claims: { op: 'none' } },
          ...(op === 'credential' && { 'one without a refresh policy': { claims: { rfp: undefined } } }),
        };
        for (const [what, deviation] of Object.entries(wrong)) {
          const jti = randomToken();
          const refused = await show({ ...deviation, claims: { ...deviation.claims, jti } });
          expectRefusal(refused, 'TICKET_INVALID', what);
          expectTaken(await show({ claims: { jti } }));
        }
      }),
  },
];
