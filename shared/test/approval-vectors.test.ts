import { approvalChallenge, approvalText, toBase64url } from '@svault/shared';
import { requestDigest } from '@svault/shared/request-digest';
import { describe, expect, it } from 'vitest';
import { approvalVectors } from './vector-files.ts';

const { requests, decisions } = approvalVectors;

describe('vectors made with Python’s hashlib', () => {
  describe('requests', () => {
    it.each(requests.map((vector) => [vector.name, vector] as const))('%s', (_name, vector) => {
      const { kind, method, fields, body } = vector;
      const read = requestDigest({ kind, method, fields, body: Buffer.from(body) });
      if (vector.reason !== undefined) return expect(read).toEqual({ ambiguity: vector.reason });
      const { digest, bodyDigest = '', handshake } = vector;
      expect(read).toMatchObject({ digest, bodyDigest });
      expect('isHandshake' in read).toBe(handshake === true);
      expect(requestDigest({ kind, method, fields, body: bodyDigest })).toEqual({ digest, bodyDigest });
    });
  });

  describe('decisions', () => {
    it.each(decisions.map((vector) => [vector.name, vector] as const))('%s', (_name, vector) => {
      const { facts, text, decision, scope, challenge } = vector;
      expect(approvalText(facts)).toBe(text);
      expect(toBase64url(approvalChallenge(text, decision, scope))).toBe(challenge);
    });
  });
});
