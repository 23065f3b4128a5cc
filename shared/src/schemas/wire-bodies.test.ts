import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { credentialEnvelopeSchema } from './credential-envelope.ts';
import { errorBodySchema } from './members.ts';
import { exchangeAnswerSchema, exchangeRequestSchema, rotateRequestSchema } from './exchange.ts';
import { healthSchema, signedHealthSchema } from './health.ts';
import { refreshNotifySchema, refreshRequestSchema } from './refresh.ts';
import { storageOperationSchema } from './storage.ts';

const CODE = '6fbbd7e8-6a4c-4f5e-9d0e-2a6f1c1b7a11';
const SERVICE = { baseUrl: 'https://service.example', vaultId: 'vlt_1' };
const ANSWER = {
  webhookId: 'whk_1',
  keyId: 'k1',
  hmacSecret: 'A'.repeat(43),
  protocol: 'v1',
  capabilities: ['storage', 'one-of-tomorrow'],
};

describe('exchange', () => {
  it('accepts a code in lower case', () => {
    expect(exchangeRequestSchema.safeParse({ code: CODE, service: SERVICE, extra: 1 }).success).toBe(true);
    for (const code of [CODE.toUpperCase(), CODE.slice(1), `${CODE} `, `{${CODE}}`])
      expect(exchangeRequestSchema.safeParse({ code, service: SERVICE }).success).toBe(false);
    expect(rotateRequestSchema.safeParse({ op: 'rotate' }).success).toBe(true);
  });

  it('returns 32 bytes in canonical base64url', () => {
    expect(exchangeAnswerSchema.safeParse(ANSWER).success).toBe(true);
    for (const hmacSecret of ['A'.repeat(42), 'A'.repeat(44), `${'A'.repeat(42)}B`, `${'A'.repeat(42)}=`])
      expect(exchangeAnswerSchema.safeParse({ ...ANSWER, hmacSecret }).success).toBe(false);
  });
});

describe('other bodies', () => {
  it('ignore unknown members', () => {
    const signed = {
      status: 'ok',
      protocol: 'v1',
      version: '1',
      webhookId: 'whk_1',
      capabilities: [],
      time: '2026-01-01T00:00:00Z',
    };
    expect(healthSchema.parse({ status: 'ok', owner: 'x' })).toEqual({ status: 'ok' });
    expect(signedHealthSchema.parse({ ...signed, more: 1 })).toEqual(signed);
    expect(errorBodySchema.parse({ error: 'e', code: 'C', retryAfter: 1 })).toHaveProperty('retryAfter', 1);
  });

  it('accept an envelope of every token type', () => {
    const token = { accessToken: '', serviceName: 'github', createdAt: '2026-01-01T00:00:00Z' };
    const accepts = (more: object) =>
      credentialEnvelopeSchema.safeParse({ token: { ...token, ...more } }).success;
    expect(accepts({ tokenType: 'PlainText' })).toBe(true);
    expect(accepts({ tokenType: 'TOTP', expiresIn: 1 })).toBe(true);
    expect(accepts({ tokenType: 'TOTP', expiresIn: 0 })).toBe(false);
    expect(accepts({ tokenType: 'Password' })).toBe(false);
  });

  it('accept both phases of a refresh', () => {
    expect(refreshRequestSchema.safeParse({ phase: 'get', serviceName: 'github' }).success).toBe(true);
    expect(
      refreshRequestSchema.safeParse({ phase: 'update', leaseId: 'l', clientAssertion: 'a' }).success,
    ).toBe(true);
    expect(refreshRequestSchema.safeParse({ phase: 'update' }).success).toBe(false);
    expect(refreshNotifySchema.safeParse({ serviceName: 'github', reason: 'whim' }).success).toBe(false);
  });

  it.each([
    ['exchange', exchangeRequestSchema],
    ['storage', storageOperationSchema],
    ['refresh', refreshRequestSchema],
    ['envelope', credentialEnvelopeSchema],
  ])('can be exported: %s', (_name, schema) => {
    expect(() => z.toJSONSchema(schema, { io: 'input' })).not.toThrow();
  });
});
