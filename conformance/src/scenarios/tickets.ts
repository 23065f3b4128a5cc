import { randomBytes } from 'node:crypto';
import { randomToken } from '@svault/shared';
import type { Check } from '../check.ts';
import { expectOk, expectRefusal, expectThat } from '../expect.ts';
import type { TicketDeviation } from '../forge/ticket.ts';
import type { Answer } from '../http/client.ts';
import { sameOutside } from '../same-outside.ts';
import type { Tools } from '../tools.ts';

const now = (): number => Math.floor(Date.now() / 1000);

/** Stores a text, then fetches it with a ticket that has one deviation. */
async function fetchWith(tools: Tools, deviation: TicketDeviation): Promise<Answer> {
  const { name } = await tools.given.text();
  return tools.fetchCredential(tools.ticket('credential', name, deviation));
}

function refused(
  id: string,
  title: string,
  requirements: Check['requirements'],
  deviation: (tools: Tools) => TicketDeviation,
): Check {
  return {
    id: `ticket.${id}`,
    title,
    requirements,
    claims: ['credential'],
    run: async (tools) => {
      expectRefusal(await fetchWith(tools, deviation(tools)), 'TICKET_INVALID');
    },
  };
}

/** Protocol section 4. */
export const TICKET_CHECKS: readonly Check[] = [
  {
    id: 'ticket.missing',
    title: 'GET /v1/credential without a ticket is refused',
    requirements: ['TIX-31'],
    claims: ['credential'],
    run: async ({ send }) =>
      expectRefusal(await send({ method: 'GET', path: '/v1/credential' }), 'TICKET_INVALID'),
  },
  refused('forged-mac', 'a ticket signed with another key is refused', ['TIX-29'], () => ({
    secret: randomBytes(32),
  })),
  refused('unsigned', 'a ticket that says alg none is refused', ['TIX-04'], () => ({
    header: { alg: 'none' },
  })),
  refused('other-type', 'a token of another type is refused', ['TIX-04'], () => ({ header: { typ: 'JWT' } })),
  refused('extra-header', 'a ticket with a fourth header member is refused', ['TIX-04'], () => ({
    header: { jku: 'https://another.example/keys' },
  })),
  refused('other-audience', 'a ticket for another webhook is refused', ['TIX-09'], () => ({
    claims: { aud: 'whk_another' },
  })),
  refused('other-issuer', 'a ticket of another service is refused', ['TIX-08'], ({ target }) => ({
    claims: { iss: `${target.serviceUrl}/` },
  })),
  refused('other-operation', 'a store ticket fetches nothing', ['TIX-12'], () => ({
    claims: { op: 'store' },
  })),
  refused('no-refresh-policy', 'a credential ticket without refresh policy is refused', ['TIX-27'], () => ({
    claims: { rfp: undefined },
  })),
  refused('expired', 'a ticket that expired more than 30 seconds ago is refused', ['TIX-18'], () => ({
    claims: { iat: now() - 100, exp: now() - 40 },
  })),
  refused('from-the-future', 'a ticket issued more than 30 seconds ahead is refused', ['TIX-17'], () => ({
    claims: { iat: now() + 45, exp: now() + 60 },
  })),
  refused(
    'long-lived',
    'a credential ticket that would live longer than 60 seconds is refused',
    ['TIX-16'],
    () => ({
      claims: { iat: now(), exp: now() + 61 },
    }),
  ),
  refused('short-id', 'a jti of fewer than 22 characters is refused', ['TIX-14'], () => ({
    claims: { jti: randomToken(16).slice(0, 21) },
  })),
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
      const answers = await Promise.all(Array.from({ length: 10 }, () => tools.fetchCredential(ticket)));
      const [delivered, ...again] = answers.filter(({ status }) => status === 200);
      for (const answer of again) expectThat(false, answer, '401: the ticket was delivered on already');
      for (const answer of answers) if (answer !== delivered) expectRefusal(answer, 'TICKET_INVALID');
    },
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
    title: 'a forged ticket with a good one’s id uses nothing up',
    requirements: ['TIX-34'],
    claims: ['credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const claims = { jti: randomToken() };
      const forged = tools.ticket('credential', name, { claims, secret: randomBytes(32) });
      expectRefusal(await tools.fetchCredential(forged), 'TICKET_INVALID');
      expectOk(await tools.fetchCredential(tools.ticket('credential', name, { claims })));
    },
  },
  {
    id: 'ticket.doubled',
    title: 'two ticket parameters are refused',
    requirements: ['TIX-06'],
    claims: ['credential'],
    run: async (tools) => {
      const { name } = await tools.given.text();
      const [one, other] = [tools.ticket('credential', name), tools.ticket('credential', name)];
      expectRefusal(await tools.fetchCredential(`${one}&ticket=${other}`), 'TICKET_INVALID');
    },
  },
  {
    id: 'ticket.uniform',
    title: 'every refusal of a ticket is the same bytes',
    requirements: ['TIX-31'],
    claims: ['credential'],
    run: async (tools) => {
      const name = tools.freshName();
      const refusal = (deviation: TicketDeviation): Promise<Answer> =>
        tools.fetchCredential(tools.ticket('credential', name, deviation));
      const forged = await refusal({ secret: randomBytes(32) });
      for (const claims of [
        { aud: 'whk_another' },
        { iat: now() - 200, exp: now() - 140 },
        { op: 'store' },
      ]) {
        const other = await refusal({ claims });
        expectThat(sameOutside(forged, other), other, 'the bytes that a forged ticket is answered with');
      }
    },
  },
];
