import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toBase64url, utf8 } from '../bytes.ts';
import { hmacSha256 } from '../signing/hmac.ts';
import { ticketClaimUntil } from './claims.ts';
import type { TicketClaims, ProxyTicket, StoreTicket, TicketOp, CredentialTicket } from './claims.ts';
import { issueTicket } from './issue.ts';
import { TicketRefused } from './ticket-refused.ts';
import { type TicketPolicy, verifyTicket } from './verify.ts';

const NOW = 1767225600;
const KEY = { id: 'k1', secret: Buffer.alloc(32, 7) };
const COMMON = {
  iss: 'https://service.example',
  aud: 'whk_1',
  svc: 'github',
  jti: 'AAECAwQFBgcICQoLDA0ODw',
  iat: NOW,
};
const CREDENTIAL: CredentialTicket = {
  ...COMMON,
  op: 'credential',
  sub: 'agt_1',
  exp: NOW + 60,
  gnt: 'grt_1',
  rfp: 'auto',
  cnf: { jkt: 'j'.repeat(43) },
};
const STORE: StoreTicket = { ...COMMON, op: 'store', sub: 'usr_1', exp: NOW + 300, ifv: 0 };
const PROXY: ProxyTicket = { ...COMMON, op: 'proxy', sub: 'prx_1', exp: NOW + 60, htm: 'POST', prx: 'prx_1' };

const policyFor = <Op extends TicketOp>(op: Op, more: Partial<TicketPolicy<Op>> = {}): TicketPolicy<Op> => ({
  op,
  issuer: 'https://service.example',
  audience: 'whk_1',
  keyFor: (kid) => (kid === 'k1' ? KEY.secret : undefined),
  nowMs: NOW * 1000,
  ...more,
});
/** `accepted`, or the reason of our own refusal; anything else that is thrown fails the test. */
const outcome = <Op extends TicketOp>(ticket: string, policy: TicketPolicy<Op>): string => {
  try {
    verifyTicket(ticket, policy);
    return 'accepted';
  } catch (error) {
    if (error instanceof TicketRefused) return error.reason;
    throw error;
  }
};
const forge = (header: string, claims: string): string => {
  const input = `${toBase64url(utf8(header))}.${toBase64url(utf8(claims))}`;
  return `${input}.${toBase64url(hmacSha256(KEY.secret, input))}`;
};

describe('a ticket', () => {
  it.each<TicketClaims>([CREDENTIAL, STORE, PROXY])(
    'is verified with the claims that it was issued with: %o',
    (claims) => {
      expect(verifyTicket(issueTicket(claims, KEY), policyFor(claims.op))).toEqual(claims);
    },
  );

  it('for a credential names a grant, unless it is for the owner', () => {
    const { gnt: _, ...ungranted } = CREDENTIAL;
    const forSubject = (sub: string): string =>
      outcome(issueTicket({ ...ungranted, sub }, KEY), policyFor('credential'));
    expect([forSubject('usr_1'), forSubject('agt_1'), forSubject('prx_1')]).toEqual([
      'accepted',
      'grant',
      'grant',
    ]);
  });

  it('for a proxy names any method but CONNECT and TRACE', () => {
    const named = (htm: string): string => outcome(issueTicket({ ...PROXY, htm }, KEY), policyFor('proxy'));
    for (const htm of ['GET', 'PATCH', 'M-SEARCH', 'A'.repeat(20)]) expect(named(htm)).toBe('accepted');
    for (const htm of ['CONNECT', 'TRACE', 'get', '-A', 'G T', 'G1', 'A'.repeat(21), ''])
      expect([htm, named(htm)]).toEqual([htm, 'method']);
  });

  it('has exactly three header members, and its header is cached by key id', () => {
    const headerOf = (id: string): unknown => {
      const [header = ''] = issueTicket(STORE, { ...KEY, id }).split('.');
      return JSON.parse(Buffer.from(header, 'base64url').toString());
    };
    for (const id of ['k1', 'k2', 'k1'])
      expect(headerOf(id)).toEqual({ alg: 'HS256', typ: 'sv-ticket+jwt', kid: id });
  });

  it('names its key as the same header in another spelling does', () => {
    const kid = fc.oneof(
      fc.stringMatching(/^[A-Za-z0-9_-]{0,70}$/),
      fc.string(),
      fc.constantFrom('a"', 'ü', 'a\\n'),
    );
    const readAs = (header: string): string => {
      let asked = '';
      const keyFor = (id: string): Uint8Array => {
        asked = id;
        return KEY.secret;
      };
      return `${asked} ${outcome(forge(header, JSON.stringify(STORE)), policyFor('store', { keyFor }))} ${asked}`;
    };
    fc.assert(
      fc.property(kid, (id) => {
        const header = JSON.stringify({ alg: 'HS256', typ: 'sv-ticket+jwt', kid: id });
        return readAs(header) === readAs(header.replace(',', ' , '));
      }),
    );
  });

  it('is read without unknown claims and without names that are special in JavaScript', () => {
    const claims = JSON.stringify({ ...STORE, admin: true, toString: 'x', ifv: null });
    const { ifv: _, ...known } = STORE;
    expect(
      verifyTicket(forge('{"alg":"HS256","typ":"sv-ticket+jwt","kid":"k1"}', claims), policyFor('store')),
    ).toEqual(known);
  });

  it('is valid with a clock difference of 30 seconds, and not a millisecond more', () => {
    const ticket = issueTicket(CREDENTIAL, KEY);
    const at = (ms: number): string => outcome(ticket, policyFor('credential', { nowMs: NOW * 1000 + ms }));
    expect(at(-30_000)).toBe('accepted');
    expect(at(-30_001)).toBe('not_yet_valid');
    expect(at(90_000)).toBe('accepted');
    expect(at(90_001)).toBe('expired');
    expect(ticketClaimUntil(CREDENTIAL)).toBe(NOW + 90);
  });

  it('is valid for one purpose', () => {
    const ops = [CREDENTIAL, STORE, PROXY];
    for (const issued of ops) {
      for (const { op } of ops) {
        expect(outcome(issueTicket(issued, KEY), policyFor(op))).toBe(
          op === issued.op ? 'accepted' : 'operation',
        );
      }
    }
  });

  it.each([
    ['a key of 31 bytes', () => issueTicket(STORE, { id: 'k1', secret: Buffer.alloc(31) })],
    [
      'a key of 36 bytes, even under the id of a binding',
      () => issueTicket(STORE, { id: 'bind', secret: Buffer.alloc(36) }),
    ],
    ['a malformed key id', () => issueTicket(STORE, { id: 'a.b', secret: Buffer.alloc(32) })],
    ['more than 4096 characters', () => issueTicket({ ...STORE, iss: 'x'.repeat(4000) }, KEY)],
  ])('cannot be issued with %s', (_case, issue) => {
    expect(issue).toThrow(RangeError);
  });

  it('is rejected under a key of another length', () => {
    for (const bytes of [0, 16, 31, 33, 36]) {
      expect(
        outcome(issueTicket(STORE, KEY), policyFor('store', { keyFor: () => Buffer.alloc(bytes, 7) })),
      ).toBe('key_length');
    }
  });

  it('is verified with the key of exactly the id in its header', () => {
    const asked: string[] = [];
    const keyFor = (kid: string): undefined => void asked.push(kid);
    expect(outcome(issueTicket(STORE, { ...KEY, id: 'toString' }), policyFor('store', { keyFor }))).toBe(
      'unknown_key',
    );
    expect(asked).toEqual(['toString']);
  });
});

describe('any one bit flipped (R15)', () => {
  it('in a ticket is rejected', () => {
    fc.assert(
      fc.property(fc.constantFrom(CREDENTIAL, STORE, PROXY), fc.nat(1 << 20), (claims, bit) => {
        const bytes = Buffer.from(issueTicket(claims, KEY), 'latin1');
        const at = Math.floor(bit / 8) % bytes.length;
        bytes[at] = bytes[at]! ^ (1 << (bit % 8));
        return outcome(bytes.toString('latin1'), policyFor(claims.op)) !== 'accepted';
      }),
      { numRuns: 3000 },
    );
  });

  it('in the key is rejected', () => {
    fc.assert(
      fc.property(fc.nat(255), (bit) => {
        const key = Buffer.from(KEY.secret);
        key[bit >> 3] = key[bit >> 3]! ^ (1 << (bit & 7));
        return outcome(issueTicket(STORE, KEY), policyFor('store', { keyFor: () => key })) === 'mac';
      }),
    );
  });
});

describe('the reader of tickets', () => {
  it('throws only its own error, for any text', () => {
    const part = fc.oneof(
      fc.string(),
      fc.base64String(),
      fc.string().map((text) => toBase64url(utf8(text))),
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(part, { maxLength: 5 }).map((parts) => parts.join('.')),
    );
    fc.assert(
      fc.property(text, (ticket) => outcome(ticket, policyFor('credential')) !== 'accepted'),
      { numRuns: 2000 },
    );
  });

  it('throws only its own error, for any signed claims', () => {
    const header = '{"alg":"HS256","typ":"sv-ticket+jwt","kid":"k1"}';
    const claim = fc.constantFrom(
      'iss',
      'aud',
      'sub',
      'op',
      'svc',
      'jti',
      'iat',
      'exp',
      'gnt',
      'rfp',
      'cnf',
      'htm',
      'prx',
      'ifv',
    );
    fc.assert(
      fc.property(fc.constantFrom(CREDENTIAL, STORE, PROXY), claim, fc.jsonValue(), (claims, name, value) => {
        const changed = JSON.stringify({ ...claims, [name]: value });
        expect(typeof outcome(forge(header, changed), policyFor(claims.op))).toBe('string');
      }),
      { numRuns: 2000 },
    );
  });

  it('throws only its own error, for any signed header', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          fc
            .dictionary(fc.constantFrom('alg', 'typ', 'kid', 'crit'), fc.jsonValue())
            .map((value) => JSON.stringify(value)),
        ),
        (header) => outcome(forge(header, JSON.stringify(STORE)), policyFor('store')) !== 'accepted',
      ),
      { numRuns: 1000 },
    );
  });
});
