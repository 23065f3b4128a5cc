import fc from 'fast-check';
import { SignJWT, errors, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { type TicketClaims, issueTicket, TicketRefused, randomToken, verifyTicket } from '@svault/shared';
import { ticketVectors } from './vector-files.ts';

const KEY = {
  id: 'k1',
  secret: Buffer.from('000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f', 'hex'),
};
const ISSUER = 'https://service.example';
const AUDIENCE = 'whk_1';
const HEADER = { alg: 'HS256', typ: 'sv-ticket+jwt', kid: KEY.id } as const;

const tickets = fc
  .record({
    iat: fc.integer({ min: 1_000_000_000, max: 4_000_000_000 }),
    life: fc.integer({ min: 1, max: 60 }),
    svc: fc.constantFrom('github', 'Schlüssel 🔑', '"quoted"', 'a b'),
    kind: fc.constantFrom(
      { op: 'credential', sub: 'agt_1', gnt: 'grt_1', rfp: 'none' } as const,
      { op: 'store', sub: 'usr_1', ifv: 3 } as const,
      { op: 'proxy', sub: 'prx_1', htm: 'DELETE', prx: 'prx_1' } as const,
    ),
  })
  .map(({ iat, life, svc, kind }): TicketClaims => {
    return { iss: ISSUER, aud: AUDIENCE, svc, jti: randomToken(), iat, exp: iat + life, ...kind };
  });

/** How jose is told to insist on as much of the rules as it knows. */
const joseVerifies = async (ticket: string, nowSeconds: number): Promise<boolean> => {
  try {
    await jwtVerify(ticket, KEY.secret, {
      algorithms: ['HS256'],
      typ: 'sv-ticket+jwt',
      issuer: ISSUER,
      audience: AUDIENCE,
      currentDate: new Date(nowSeconds * 1000),
      clockTolerance: 30,
      requiredClaims: ['iss', 'aud', 'sub', 'iat', 'exp', 'jti'],
    });
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError) return false;
    throw error;
  }
};
const policyAt = <Op extends TicketClaims['op']>(op: Op, nowSeconds: number) => {
  return { op, issuer: ISSUER, audience: AUDIENCE, keyFor: () => KEY.secret, nowMs: nowSeconds * 1000 };
};

describe('against jose', () => {
  it('verifies our tickets', async () => {
    await fc.assert(
      fc.asyncProperty(tickets, async (claims) => {
        const { payload, protectedHeader } = await jwtVerify(issueTicket(claims, KEY), KEY.secret, {
          algorithms: ['HS256'],
          currentDate: new Date(claims.iat * 1000),
        });
        expect(payload).toEqual(claims);
        expect(protectedHeader).toEqual(HEADER);
      }),
    );
  });

  it('issues tickets that we verify', async () => {
    await fc.assert(
      fc.asyncProperty(tickets, async (claims) => {
        const ticket = await new SignJWT({ ...claims }).setProtectedHeader(HEADER).sign(KEY.secret);
        expect(verifyTicket(ticket, policyAt(claims.op, claims.iat))).toEqual(claims);
      }),
    );
  });

  it('accepts every ticket that we accept, at any time', async () => {
    await fc.assert(
      fc.asyncProperty(tickets, fc.integer({ min: -100, max: 200 }), async (claims, later) => {
        const ticket = issueTicket(claims, KEY);
        let accepted = true;
        try {
          verifyTicket(ticket, policyAt(claims.op, claims.iat + later));
        } catch (error) {
          expect(error).toBeInstanceOf(TicketRefused);
          accepted = false;
        }
        // jose has no rule about `iat` in the future, and ends at exactly exp + tolerance, where we still accept.
        if (later >= -30 && later !== claims.exp - claims.iat + 30)
          expect(await joseVerifies(ticket, claims.iat + later)).toBe(accepted);
      }),
    );
  });

  /** Rules of ours that a JWT library does not know, so that it accepts what we refuse. */
  const OURS_ALONE = new Set([
    'too_long',
    'header_members',
    'key_id',
    'unknown_key',
    'operation',
    'subject',
    'service',
    'ticket_id',
    'issued_at',
    'lifetime',
    'not_yet_valid',
    'grant',
    'refresh_policy',
    'confirmation',
    'if_version',
    'method',
    'proxy',
  ]);
  /** Looser reading of base64 and JSON, and a list where we take a text. */
  const LOOSER = new Set([
    // Where clocks meet exactly it ends one second earlier.
    'expired for 30 seconds',
    'a MAC with padding',
    'a space at the end',
    'the same MAC in another spelling: unused bits set',
    'a member twice',
    'a claim twice',
    'the audience as a list',
  ]);

  const comparable = ticketVectors.filter(
    ({ name, reason = '' }) => !OURS_ALONE.has(reason) && !LOOSER.has(name),
  );
  it.each(comparable.map((vector) => [vector.name, vector] as const))(
    'it decides alike: %s',
    async (_name, { ticket, now, expect: wanted }) => {
      expect(await joseVerifies(ticket, now)).toBe(wanted === 'accept');
    },
  );
});
