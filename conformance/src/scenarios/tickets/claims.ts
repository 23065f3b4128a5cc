import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import type { TicketDeviation } from '../../forge/ticket.ts';
import { now } from '../signatures/signed-requests.ts';
import { refusesTickets, takesTickets } from './shown-tickets.ts';

const claims = (changed: Readonly<Record<string, unknown>>): TicketDeviation => ({ claims: changed });
/** One claim in several wrong forms. */
const each = (name: string, wrong: Readonly<Record<string, unknown>>): Record<string, TicketDeviation> =>
  Object.fromEntries(Object.entries(wrong).map(([what, value]) => [what, claims({ [name]: value })]));

const REQUIRED = ['iss', 'aud', 'sub', 'op', 'svc', 'jti', 'iat', 'exp'] as const;

/** Protocol section 4: what a credential ticket says. */
export const TICKET_CLAIM_CHECKS: readonly Check[] = [
  refusesTickets(
    {
      id: 'ticket.claims-form',
      title: 'a ticket whose claims are not one JSON object as this protocol reads it is refused',
      requirements: ['TIX-31', 'TRN-02', 'TRN-03', 'TRN-05'],
    },
    () => ({
      'a list': { claimsText: (json) => `[${json}]` },
      'no JSON': { claimsText: () => 'claims' },
      'something behind the object': { claimsText: (json) => `${json}x` },
      'a byte order mark': { claimsText: (json) => `\uFEFF${json}` },
      'a claim twice': { claimsText: (json) => json.replace('{', '{"sub":"agt_another",') },
      'a claim twice, once written with an escape': {
        claimsText: (json) => json.replace('{', '{"\\u0073ub":"agt_another",'),
      },
    }),
  ),
  refusesTickets(
    {
      id: 'ticket.missing-claim',
      title: 'a ticket that lacks a claim is refused',
      requirements: ['TIX-27'],
    },
    () => Object.fromEntries(REQUIRED.map((name) => [`without ${name}`, claims({ [name]: undefined })])),
  ),
  refusesTickets(
    {
      id: 'ticket.null-claim',
      title: 'a claim that is null is like one that is missing',
      requirements: ['TIX-27'],
    },
    ({ op }) =>
      Object.fromEntries(
        ['svc', 'jti', 'exp', ...(op === 'credential' ? ['rfp'] : [])].map((name) => [
          `${name} null`,
          claims({ [name]: null }),
        ]),
      ),
  ),
  refusesTickets(
    {
      id: 'ticket.claim-names',
      title: 'the names of claims are compared with their letter case',
      requirements: ['TRN-06', 'TIX-27'],
    },
    ({ op }) => ({
      'EXP for exp': claims({ exp: undefined, EXP: now() + 60 }),
      'Svc for svc': claims({ svc: undefined, Svc: 'a name' }),
      ...(op === 'credential' && { 'RFP for rfp': claims({ rfp: undefined, RFP: 'none' }) }),
    }),
  ),
  takesTickets(
    {
      id: 'ticket.claims-beside',
      title: 'claims whose names differ from known ones in their letter case are ignored',
      requirements: ['TRN-06', 'TIX-28'],
    },
    () => ({
      'OP and AUD behind op and aud': claims({ OP: 'none', AUD: 'whk_another', EXP: 0 }),
      'Op and Exp before op and exp': {
        claimsText: (json) => json.replace('{', '{"Op":"none","Exp":0,"Svc":7,'),
      },
    }),
  ),
  refusesTickets(
    {
      id: 'ticket.other-audience',
      title: 'a ticket for another webhook is refused',
      requirements: ['TIX-09'],
    },
    ({ target: { webhookId } }) =>
      each('aud', {
        'another id': 'whk_another',
        'an id that begins like it': `${webhookId}x`,
        'a list with its id': [webhookId],
        'a list with its id and another one': [webhookId, 'whk_another'],
        '*': '*',
        empty: '',
      }),
  ),
  refusesTickets(
    {
      id: 'ticket.other-issuer',
      title: 'a ticket of another service is refused',
      requirements: ['TIX-07', 'TIX-08'],
    },
    ({ target: { serviceUrl } }) => {
      const { protocol, host, port } = new URL(serviceUrl);
      const capitals = serviceUrl.toUpperCase();
      return each('iss', {
        'a slash at the end': `${serviceUrl}/`,
        'a path': `${serviceUrl}/another`,
        'another service': 'https://another.example',
        'a service that begins like it': `${serviceUrl}.another.example`,
        'the start of its address': serviceUrl.slice(0, -1),
        'another scheme': serviceUrl.replace(/^https?:/, protocol === 'https:' ? 'http:' : 'https:'),
        'its host alone': host,
        ...(port === '' && { 'the default port': `${serviceUrl}:${protocol === 'https:' ? 443 : 80}` }),
        ...(capitals !== serviceUrl && { 'in capitals': capitals }),
        'a list with its address': [serviceUrl],
      });
    },
  ),
  refusesTickets(
    {
      id: 'ticket.subject',
      title: 'a ticket that is neither an agent’s, nor a proxy’s, nor an owner’s is refused',
      requirements: ['TIX-10'],
    },
    () =>
      each('sub', {
        'another kind': 'svc_conformance',
        'no kind': 'conformance',
        'a kind in capitals': 'AGT_conformance',
        empty: '',
        'a number': 7,
      }),
  ),
  refusesTickets(
    {
      id: 'ticket.no-refresh-policy',
      title: 'a credential ticket without refresh policy is refused',
      requirements: ['TIX-20', 'TIX-27'],
    },
    () => ({
      'an agent’s': claims({ rfp: undefined }),
      'an owner’s': claims({ rfp: undefined, gnt: undefined, sub: 'usr_conformance' }),
    }),
    ['credential'],
  ),
  refusesTickets(
    {
      id: 'ticket.short-id',
      title: 'a jti of fewer than 22 characters is refused',
      requirements: ['TIX-14'],
    },
    () => each('jti', { '21 characters': randomToken(16).slice(0, 21), empty: '' }),
  ),
  refusesTickets(
    {
      id: 'ticket.id-form',
      title: 'a jti that is longer than 64 characters, or no base64url, is refused',
      requirements: ['TIX-14'],
    },
    () => {
      const start = randomToken(16).slice(1);
      return each('jti', {
        '65 characters': randomToken(49).slice(0, 65),
        'with a plus sign': `${start}+`,
        'with padding': `${start}A==`,
        'with a space': `${start} A`,
        'a number': 1e21,
      });
    },
  ),
  takesTickets(
    {
      id: 'ticket.id-lengths',
      title: 'a jti of 22 and one of 64 characters are accepted, with every character of base64url',
      requirements: ['TIX-14'],
    },
    () =>
      each('jti', {
        '22 characters': randomToken(16),
        '64 characters': randomToken(48),
        'with a dash and an underscore': `-_${randomToken(16)}-_`,
      }),
  ),
  refusesTickets(
    {
      id: 'ticket.times-not-integers',
      title: 'iat and exp that are no integers are refused',
      requirements: ['TIX-15'],
    },
    () => ({
      'iat as a text': claims({ iat: String(now()) }),
      'exp as a text': claims({ exp: String(now() + 30) }),
      'iat with a fraction': claims({ iat: now() + 0.5 }),
      'exp with a fraction': claims({ exp: now() + 30.5 }),
      'exp as a time': claims({ exp: new Date(Date.now() + 30_000).toISOString() }),
    }),
  ),
  refusesTickets(
    {
      id: 'ticket.expired',
      title: 'a ticket that expired more than 30 seconds ago is refused',
      requirements: ['TIX-18'],
    },
    () => ({
      '36 seconds ago': claims({ iat: now() - 90, exp: now() - 36 }),
      'a year ago': claims({ iat: now() - 31_536_060, exp: now() - 31_536_000 }),
    }),
  ),
  refusesTickets(
    {
      id: 'ticket.from-the-future',
      title: 'a ticket issued more than 30 seconds ahead is refused',
      requirements: ['TIX-17'],
    },
    () => ({
      '40 seconds ahead': claims({ iat: now() + 40, exp: now() + 60 }),
      'a year ahead': claims({ iat: now() + 31_536_000, exp: now() + 31_536_060 }),
    }),
  ),
  refusesTickets(
    {
      id: 'ticket.long-lived',
      title: 'a ticket that would live longer than 60 seconds, one for storing longer than 300, is refused',
      requirements: ['TIX-16'],
    },
    ({ op }) => {
      const over = op === 'store' ? 301 : 61;
      return {
        'a second too long, from now on': claims({ iat: now(), exp: now() + over }),
        'a second too long, most of it over': claims({ iat: now() - over + 1, exp: now() + 1 }),
      };
    },
  ),
  refusesTickets(
    {
      id: 'ticket.no-life',
      title: 'a ticket that expires when it is issued, or before, is refused',
      requirements: ['TIX-16'],
    },
    () => ({
      'at the same second': claims({ iat: now(), exp: now() }),
      'ten seconds before': claims({ iat: now(), exp: now() - 10 }),
    }),
  ),
  takesTickets(
    {
      id: 'ticket.other-clock',
      title: 'a ticket of a service whose clock is 25 seconds off is accepted, either way',
      requirements: ['TIX-16', 'TIX-17', 'TIX-18'],
    },
    () => ({
      'issued 25 seconds ahead': claims({ iat: now() + 25, exp: now() + 85 }),
      'expired 25 seconds ago': claims({ iat: now() - 80, exp: now() - 25 }),
      'with a life of one second': claims({ iat: now(), exp: now() + 1 }),
    }),
  ),
];
