import { randomBytes } from 'node:crypto';
import { parseSignature, utf8, verifySignature, verifyTicket } from '@svault/shared';
import { expect, test } from 'vitest';
import type { Target } from '../target.ts';
import { forgeSignature } from './signature.ts';
import { forgeTicket } from './ticket.ts';

const target: Target = {
  webhookUrl: 'https://hook.example:8443/a/b',
  webhookId: 'whk_1',
  serviceUrl: 'https://service.example',
  key: { id: 'k1', secret: randomBytes(32) },
  timeoutMs: 1000,
};

test.each([
  ['with a body', '{}'],
  ['without a body', ''],
])('an unaltered signature %s is verified by the library', (_, text) => {
  const body = utf8(text);
  const { headers } = forgeSignature(target, { method: 'POST', path: '/v1/health', body });
  const authority = 'hook.example:8443';
  const message = { method: 'POST', authority, path: '/a/b/v1/health', query: '', headers, body };
  const policy = {
    key: target.key.secret,
    nowMs: Date.now(),
    skewSeconds: 30,
    maxLifetimeSeconds: 60,
  } as const;
  expect(() => verifySignature(message, parseSignature(message), policy)).not.toThrow();
});

test.each(['credential', 'store'] as const)(
  'an undeviating %s ticket is one that the library verifies',
  (op) => {
    const claims = verifyTicket(forgeTicket(target, op, 'a name'), {
      op,
      issuer: target.serviceUrl,
      audience: target.webhookId,
      keyFor: (kid) => (kid === target.key.id ? target.key.secret : undefined),
      nowMs: Date.now(),
    });
    expect(claims).toMatchObject({ op, svc: 'a name' });
  },
);
