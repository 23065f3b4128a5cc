import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  type SignedMessage,
  TICKET_REFUSAL_REASONS,
  verifyContentDigest,
  parseSignature,
  TicketRefused,
  verifyTicket,
  SignatureRefused,
  utf8,
  signatureBase,
  verifySignature,
  SIGNATURE_REFUSAL_REASONS,
  toBase64,
  toBase64url,
} from '@svault/shared';
import { published, ticketVectors, requestVectors, digestVectors } from './vector-files.ts';
import type { RequestVector, TicketVector, RecordedRequest } from './vector-files.ts';

const messageOf = (request: RecordedRequest): SignedMessage => ({ ...request, body: utf8(request.body) });

/** `accept`, or the reason of our own refusal; anything else that is thrown fails the test. */
const outcome = (work: () => unknown): string => {
  try {
    work();
    return 'accept';
  } catch (error) {
    if (error instanceof SignatureRefused || error instanceof TicketRefused) return error.reason;
    throw error;
  }
};

const verifyRequest = ({ request, key, now }: RequestVector): void => {
  const message = messageOf(request);
  const parsed = parseSignature(message);
  const policy = { nowMs: now * 1000, skewSeconds: 30, maxLifetimeSeconds: 60 } as const;
  verifySignature(message, parsed, { key: Buffer.from(key, 'hex'), ...policy });
};

const verifyVectorTicket = ({ ticket, op, issuer, audience, keys, now }: TicketVector): unknown => {
  const keyFor = (kid: string): Uint8Array | undefined =>
    keys[kid] === undefined ? undefined : Buffer.from(keys[kid], 'hex');
  return verifyTicket(ticket, { op, issuer, audience, keyFor, nowMs: now * 1000 });
};

const expected = (vector: { readonly expect: string; readonly reason?: string }): string =>
  vector.expect === 'accept' ? 'accept' : (vector.reason ?? 'a reason is missing');

describe('vectors made with openssl', () => {
  describe('content digests', () => {
    it.each(digestVectors.map((vector) => [vector.name, vector] as const))('%s', (_name, vector) => {
      expect(outcome(() => verifyContentDigest(vector.value, utf8(vector.body)))).toBe(expected(vector));
    });
  });

  describe('signed requests', () => {
    it.each(requestVectors.map((vector) => [vector.name, vector] as const))('%s', (_name, vector) => {
      expect(outcome(() => verifyRequest(vector))).toBe(expected(vector));
    });

    it.each(
      requestVectors
        .filter(({ expect: wanted }) => wanted === 'accept')
        .map((vector) => [vector.name, vector] as const),
    )('the signature base of: %s', (_name, { request, signatureBase: base }) => {
      const message = messageOf(request);
      const { covered, signatureParams } = parseSignature(message);
      expect(signatureBase(message, covered, signatureParams)).toBe(base);
    });
  });

  describe('tickets', () => {
    it.each(ticketVectors.map((vector) => [vector.name, vector] as const))('%s', (_name, vector) => {
      expect(outcome(() => verifyVectorTicket(vector))).toBe(expected(vector));
    });
  });

  it('have one for each reason to reject', () => {
    const reasons = new Set(
      [...digestVectors, ...requestVectors, ...ticketVectors].map(({ reason }) => reason),
    );
    // What no sender can bring about: a key of another length, and bytes that no HTTP parser lets through.
    const elsewhere = new Set(['key_length', 'field_value', 'target']);
    for (const reason of [...SIGNATURE_REFUSAL_REASONS, ...TICKET_REFUSAL_REASONS]) {
      if (!elsewhere.has(reason)) expect(reasons, reason).toContain(reason);
    }
  });
});

describe('published facts', () => {
  it('RFC 9421 B.2.5: the signature base and its HMAC', () => {
    const {
      request,
      components,
      signatureParams,
      signatureBase: base,
      key,
      mac,
    } = published['rfc9421-b.2.5'];
    expect(signatureBase(messageOf(request), components, signatureParams)).toBe(base);
    expect(toBase64(createHmac('sha256', Buffer.from(key, 'base64')).update(base).digest())).toBe(mac);
  });

  it('RFC 7515 A.1: the MAC of a JWS that is not a ticket', () => {
    const { key, signingInput, mac } = published['rfc7515-a.1'];
    expect(
      toBase64url(createHmac('sha256', Buffer.from(key, 'base64url')).update(signingInput).digest()),
    ).toBe(mac);
    const policy = {
      op: 'credential',
      issuer: 'joe',
      audience: '',
      keyFor: () => Buffer.alloc(32),
      nowMs: 0,
    } as const;
    expect(outcome(() => verifyTicket(`${signingInput}.${mac}`, policy))).toBe('type');
  });

  it.each(published['rfc6238-b'].map((fact) => [fact.algorithm, fact.time, fact] as const))(
    'RFC 6238 appendix B: %s at %d',
    (_algorithm, _time, fact) => {
      const counter = Buffer.alloc(8);
      counter.writeBigUInt64BE(BigInt(Math.floor(fact.time / fact.period)));
      const mac = createHmac(fact.algorithm, fact.seed).update(counter).digest();
      const truncated = mac.readUInt32BE(mac.readUInt8(mac.length - 1) & 0xf) & 0x7fffffff;
      expect(String(truncated % 10 ** fact.digits).padStart(fact.digits, '0')).toBe(fact.code);
    },
  );
});
