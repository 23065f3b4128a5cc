import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { fingerprintOf, hmacHashOf, registrationLink } from './registration-link.ts';

describe('the registration link', () => {
  // spec: URL parameters: code (one-time UUID, 5-minute lifetime), webhook_url (base64-encoded), hmac_hash (SHA-256 hash of the webhook's HMAC secret).
  it('contains the code, the address in base64url and the hash of the secret', () => {
    const hmacHash = hmacHashOf(new Uint8Array(32).fill(7));
    expect(hmacHash).toBe(createHash('sha256').update(Buffer.alloc(32, 7)).digest('hex'));
    const link = new URL(
      registrationLink({
        serviceUrl: 'https://vault.example/base',
        webhookUrl: 'https://hook.example/a~b',
        code: '6d6a3bd5-7c5a-4f46-a0b5-2d3a3f6f3c11',
        hmacHash,
      }),
    );
    expect(link.origin + link.pathname).toBe('https://vault.example/base/vault/webhook-bind');
    expect([...link.searchParams.keys()]).toEqual(['code', 'webhook_url', 'hmac_hash']);
    expect(link.searchParams.get('code')).toBe('6d6a3bd5-7c5a-4f46-a0b5-2d3a3f6f3c11');
    const address = Buffer.from(link.searchParams.get('webhook_url')!, 'base64url').toString();
    expect(address).toBe('https://hook.example/a~b');
    expect(link.searchParams.get('hmac_hash')).toBe(hmacHash);
  });

  it('shows the first 16 digits in groups of four', () => {
    expect(fingerprintOf('0123456789abcdef'.padEnd(64, 'f'))).toBe('0123 4567 89ab cdef');
  });
});
