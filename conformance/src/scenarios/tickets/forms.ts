import { randomBytes } from 'node:crypto';
import { toBase64url } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { refusesTickets, takesTickets, type Place } from './shown-tickets.ts';

const MAX_CHARACTERS = 4096;
const TYPE = 'sv-ticket+jwt';
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** The ticket with one of its parts changed after it was signed. */
function withPart(ticket: string, index: number, change: (part: string) => string): string {
  return ticket
    .split('.')
    .map((part, at) => (at === index ? change(part) : part))
    .join('.');
}

/** The last of a part's unused bits changed; for parts whose length is no multiple of four. */
function otherUnusedBits(part: string): string {
  const last = BASE64URL.indexOf(part.at(-1) ?? '');
  return part.slice(0, -1) + BASE64URL.charAt(last ^ 1);
}

/** A right ticket whose claims end in a character with unused bits. */
function withUnusedBits({ ticket: signed }: Place): string {
  for (let spaces = 0; ; spaces++) {
    const ticket = signed({ claimsText: (json) => json + ' '.repeat(spaces) });
    if ((ticket.split('.')[1]?.length ?? 0) % 4 !== 0) return ticket;
  }
}

/** A right ticket of so many characters, by a claim that nobody knows and spaces behind the header. */
function ofLength(place: Place, characters: number): string {
  for (let spaces = 0; spaces < 3; spaces++) {
    const headerText = (json: string): string => json + ' '.repeat(spaces);
    const made = (length: number): string =>
      place.ticket({ headerText, claims: { filler: 'x'.repeat(length) } });
    const about = Math.floor(((characters - made(0).length) * 3) / 4);
    for (let length = about - 3; length <= about + 3; length++) {
      const ticket = made(length);
      if (ticket.length === characters) return ticket;
    }
  }
  throw new Error(`no ticket has ${characters} characters`);
}

/** Protocol section 4: the form of a ticket, and its header. */
export const TICKET_FORM_CHECKS: readonly Check[] = [
  refusesTickets(
    {
      id: 'ticket.unsigned',
      title: 'a ticket that says alg none is refused',
      requirements: ['TIX-03', 'TIX-04'],
    },
    (place) => {
      const unsigned = (alg: string): string => withPart(place.ticket({ header: { alg } }), 2, () => '');
      return {
        'none, with a MAC': { header: { alg: 'none' } },
        'none, without a MAC': unsigned('none'),
        'None, without a MAC': unsigned('None'),
      };
    },
  ),
  refusesTickets(
    {
      id: 'ticket.other-algorithm',
      title: 'a ticket whose alg is not HS256 is refused',
      requirements: ['TIX-03', 'TIX-04'],
    },
    () => ({
      'HS512, with such a MAC': { header: { alg: 'HS512' }, hash: 'sha512' },
      HS512: { header: { alg: 'HS512' } },
      RS256: { header: { alg: 'RS256' } },
      hs256: { header: { alg: 'hs256' } },
      'no alg': { header: { alg: undefined } },
    }),
  ),
  refusesTickets(
    {
      id: 'ticket.other-type',
      title: 'a token of another type is refused',
      requirements: ['TIX-03', 'TIX-04'],
    },
    () => ({
      JWT: { header: { typ: 'JWT' } },
      'in other letter case': { header: { typ: 'SV-Ticket+JWT' } },
      'as a whole media type': { header: { typ: 'application/sv-ticket+jwt' } },
      'no typ': { header: { typ: undefined } },
    }),
  ),
  refusesTickets(
    {
      id: 'ticket.extra-header',
      title: 'a ticket with a fourth header member is refused',
      requirements: ['TIX-04', 'TIX-22'],
    },
    ({ target }) => ({
      jku: { header: { jku: 'https://another.example/keys' } },
      'an empty crit': { header: { crit: [] } },
      'b64, which says what goes without saying': { header: { b64: true } },
      'a key': { header: { jwk: { kty: 'oct', k: toBase64url(target.key.secret.map(() => 0)) } } },
      'one that nobody knows': { header: { x: 1 } },
    }),
  ),
  refusesTickets(
    {
      id: 'ticket.header-form',
      title: 'a ticket whose header cannot be read is refused',
      requirements: ['TIX-04'],
    },
    () => ({
      'a member twice': { headerText: (json) => json.replace('{', '{"typ":"sv-ticket+jwt",') },
      'a list': { headerText: (json) => `[${json}]` },
      'no JSON': { headerText: () => 'header' },
      null: { headerText: () => 'null' },
    }),
  ),
  refusesTickets(
    {
      id: 'ticket.key-id',
      title: 'a ticket whose kid names no key of the webhook is refused',
      requirements: ['TIX-03', 'TIX-29'],
    },
    ({ target: { key } }) => {
      const likeIt = [key.id.toUpperCase(), key.id.toLowerCase()].find((each) => each !== key.id);
      return {
        'another one, with the bound key': { header: { kid: 'key-that-is-not-bound' } },
        'another one, with an empty key': {
          header: { kid: 'key-that-is-not-bound' },
          secret: new Uint8Array(),
        },
        'no kid': { header: { kid: undefined } },
        'a list': { header: { kid: [key.id] } },
        ...(likeIt !== undefined && { 'in other letter case': { header: { kid: likeIt } } }),
      };
    },
  ),
  refusesTickets(
    {
      id: 'ticket.forged-mac',
      title: 'a ticket signed with another key is refused',
      requirements: ['TIX-29'],
    },
    (place) => ({
      'a random key': { secret: randomBytes(32) },
      'an empty key': { secret: new Uint8Array() },
      'no MAC': withPart(place.ticket(), 2, () => ''),
      'half of the MAC': withPart(place.ticket(), 2, (mac) => mac.slice(0, 22)),
      'the MAC of another ticket': withPart(place.ticket(), 2, () => place.ticket().split('.')[2] ?? ''),
    }),
  ),
  refusesTickets(
    {
      id: 'ticket.changed-bits',
      title: 'a ticket in which a bit was changed is refused',
      requirements: ['TIX-02'],
    },
    (place) => ({
      'the unused bits at the end of the MAC': withPart(place.ticket(), 2, otherUnusedBits),
      'the unused bits at the end of the claims': withPart(withUnusedBits(place), 1, otherUnusedBits),
      'a character of the claims': withPart(place.ticket(), 1, changedInside),
      'the first character of the MAC': withPart(place.ticket(), 2, changedInFront),
    }),
  ),
  refusesTickets(
    {
      id: 'ticket.not-compact',
      title: 'what is not three parts of base64url is refused',
      requirements: ['TIX-01', 'TRN-16'],
    },
    (place) => ({
      'two parts': place.ticket().split('.').slice(0, 2).join('.'),
      'four parts': `${place.ticket()}.AAAA`,
      'a full stop at the end': `${place.ticket()}.`,
      'padding behind the MAC': `${place.ticket()}=`,
      'padding behind the parts, signed': place.ticket({
        claimsText: (json) => json.padEnd(json.length + ((4 - (json.length % 3)) % 3)),
        part: (encoded) => encoded.padEnd(Math.ceil(encoded.length / 4) * 4, '='),
      }),
      'a space at the end': `${place.ticket()} `,
      'a line feed at the end': `${place.ticket()}\n`,
      'no base64url at all': 'ticket',
    }),
  ),
  refusesTickets(
    {
      id: 'ticket.too-long',
      title: 'a ticket of more than 4096 characters is refused',
      requirements: ['TIX-05'],
    },
    (place) => ({ '4097 characters': ofLength(place, MAX_CHARACTERS + 1) }),
  ),
  takesTickets(
    {
      id: 'ticket.header-order',
      title: 'the members of a header stand in any order, with or without spaces',
      requirements: ['TIX-03'],
    },
    ({ target: { key } }) => ({
      'the key id first': { headerText: () => JSON.stringify({ kid: key.id, typ: TYPE, alg: 'HS256' }) },
      'with spaces': { headerText: (json) => json.replaceAll(',', ' , ') },
    }),
  ),
  takesTickets(
    {
      id: 'ticket.unknown-claims',
      title: 'claims that nobody knows are ignored, up to 4096 characters in all',
      requirements: ['TIX-28', 'TIX-05'],
    },
    (place) => ({
      'a few': { claims: { nbf: 'never', scope: ['x'], extra: { deep: null } } },
      '4096 characters': ofLength(place, MAX_CHARACTERS),
    }),
  ),
];

function changedInside(part: string): string {
  const at = Math.floor(part.length / 2);
  return part.slice(0, at) + (part[at] === 'A' ? 'B' : 'A') + part.slice(at + 1);
}

function changedInFront(part: string): string {
  return (part.startsWith('A') ? 'B' : 'A') + part.slice(1);
}
