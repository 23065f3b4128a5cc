import { Secret } from '@svault/shared';
import { describe, expect, it } from 'vitest';
import { providerReason } from './provider-reason.ts';

const SECRET = 'kX7-first~part.Qp9zL2mV8wR4tY6u';
const reasonOf = (code: unknown, description?: unknown, sent: readonly string[] = [SECRET]): string =>
  providerReason(
    { status: 400, code, description },
    sent.map((text) => new Secret(text)),
  );

describe('The reason of a provider', () => {
  it.each([
    ['invalid_grant', 'Token has been expired or revoked.'],
    [
      'AccessDenied',
      'User: arn:aws:iam::123456789012:user/bob is not authorized to perform: sts:AssumeRole on resource: arn:aws:iam::123456789012:role/x',
    ],
  ])('names the code %s and the text', (code, text) => {
    expect(reasonOf(code, text)).toBe(`status 400, ${code}: ${text}`);
  });

  it('is the status alone where the provider says nothing that is text', () => {
    for (const odd of [undefined, null, 7, {}, [], '', '\u0000'])
      expect(reasonOf(odd, odd)).toBe('status 400');
  });

  it('is the first line of a text, without control characters, and at most 200 characters of it', () => {
    expect(reasonOf('x', 'no\u001b[2J\t\u202esuch client\nPOST /token')).toBe(
      'status 400, x: no[2Jsuch client',
    );
    expect(reasonOf('x', 'a b '.repeat(200))).toHaveLength('status 400, x: '.length + 201);
    expect(reasonOf(`x${'y'.repeat(64)}`, 'word')).toBe('status 400: word');
  });

  it.each([
    ['as it is', SECRET],
    ['in part', `…${SECRET.slice(9, 18)}…`],
    ['in another case', SECRET.toUpperCase()],
    ['percent-encoded', encodeURIComponent(SECRET).replaceAll('~', '%7E')],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in base64 behind other text', Buffer.from(`id:${SECRET}`).toString('base64')],
  ])('leaves a text out that repeats what was sent %s', (_how, repeated) => {
    expect(reasonOf('invalid_client', `the secret ${repeated} is wrong`)).toBe('status 400, invalid_client');
  });

  it('leaves a code out that repeats what was sent', () => {
    expect(reasonOf('kX7-first', undefined, ['kX7-first~part'])).toBe('status 400');
  });

  it('takes out what looks like a token, whoever made it', () => {
    expect(reasonOf('x', 'token ghs_16C7e42F292c6912E7710c838347Ae178B4a is gone')).toBe(
      'status 400, x: token … is gone',
    );
    expect(reasonOf('x', 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJyb2JvdCJ9.c2lnbmF0dXJlLTEyMzQ')).toBe(
      'status 400, x: …',
    );
  });

  it('says nothing but the code beside a secret that is short enough to be guessed', () => {
    expect(reasonOf('invalid_client', 'no such client', ['hunter2'])).toBe('status 400, invalid_client');
  });

  it('does not take the words of a PEM frame for a part of the key', () => {
    const pem = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC'.repeat(4)}\n-----END PRIVATE KEY-----\n`;
    expect(reasonOf('x', 'this is no private key', [pem])).toBe('status 400, x: this is no private key');
  });
});
