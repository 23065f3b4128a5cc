import type { IncomingMessage } from 'node:http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bearerTicketOf, credentialTicketOf } from './authenticate-ticket.ts';

const request = (url: string, ...rawHeaders: string[]): IncomingMessage =>
  ({ url, rawHeaders }) as unknown as IncomingMessage;

describe('the ticket of a credential request', () => {
  it('is the query parameter', () => {
    expect(credentialTicketOf(request('/v1/credential?ticket=a.b.c'))).toBe('a.b.c');
    expect(credentialTicketOf(request('/v1/credential?x=1&ticket=a.b.c'))).toBe('a.b.c');
  });

  it('is what a general reader of the query finds, if it finds one', () => {
    const piece = fc.constantFrom('ticket', '=', '&', '?', '%74', '%', '+', 'a.b-c_d', 'x', '#', 'ü', '/');
    const query = fc
      .tuple(fc.constantFrom('?', '?ticket=', '?ticket=a.b.c', ''), fc.array(piece, { maxLength: 6 }))
      .map(([start, pieces]) => start + pieces.join(''));
    fc.assert(
      fc.property(query, (text) => {
        const given = new URLSearchParams(text.slice(text.indexOf('?'))).getAll('ticket');
        const found = text.includes('?') && given.length === 1 ? given[0] : undefined;
        return credentialTicketOf(request(`/v1/credential${text}`)) === found;
      }),
      { numRuns: 1_000 },
    );
  });

  it('is missing if the parameter is repeated, even with equal or encoded values', () => {
    expect(credentialTicketOf(request('/v1/credential?ticket=a&ticket=a'))).toBeUndefined();
    expect(credentialTicketOf(request('/v1/credential?ticket=a&%74icket=b'))).toBeUndefined();
    expect(
      credentialTicketOf(request('/v1/credential?ticket=a&ticket=', 'Authorization', 'Bearer c')),
    ).toBeUndefined();
  });

  it('is the parameter, even if a bearer token is sent too', () => {
    const sent = request('/v1/credential?ticket=a.b.c', 'Authorization', 'Bearer svagent_key');
    expect(credentialTicketOf(sent)).toBe('a.b.c');
  });

  it('is the bearer token without a parameter', () => {
    expect(credentialTicketOf(request('/v1/credential', 'authorization', 'bearer a.b.c'))).toBe('a.b.c');
    expect(credentialTicketOf(request('/v1/credential?tickets=x', 'authorization', 'Bearer a'))).toBe('a');
    expect(credentialTicketOf(request('/v1/credential'))).toBeUndefined();
  });
});

describe('the bearer ticket', () => {
  it('is missing for another scheme, several words, or two headers', () => {
    expect(bearerTicketOf(request('/v1/store', 'Authorization', 'Basic abc'))).toBeUndefined();
    expect(bearerTicketOf(request('/v1/store', 'Authorization', 'Bearer a b'))).toBeUndefined();
    expect(bearerTicketOf(request('/v1/store', 'Authorization', 'Bearer'))).toBeUndefined();
    expect(
      bearerTicketOf(request('/v1/store', 'Authorization', 'Bearer a', 'authorization', 'Bearer a')),
    ).toBeUndefined();
  });

  it('is not read from the query', () => {
    expect(bearerTicketOf(request('/v1/store?ticket=a.b.c'))).toBeUndefined();
  });
});
