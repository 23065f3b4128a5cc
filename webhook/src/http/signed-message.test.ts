import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { stripPrefix } from './signed-message.ts';

it.each([
  ['/hook', '/hook/v1/health', '/v1/health'],
  ['/hook', '/v1/health', '/v1/health'],
  ['/hook', '/hooks/v1/health', '/hooks/v1/health'],
  ['/hook', '/hook/v1/credential?ticket=/hook/', '/v1/credential?ticket=/hook/'],
  ['/hook', '/hook', '/hook'],
  ['/v1', '/v1/health', '/v1/health'],
  ['/v1', '/v1/v1/health', '/v1/health'],
  ['/bind', '/bind', '/bind'],
  ['/bind', '/bind/bind', '/bind'],
  ['', '/v1/health', '/v1/health'],
])('under %j takes %s for %s', (prefix, target, expected) => {
  const req = { url: target } as IncomingMessage;
  stripPrefix(prefix)(req);
  expect(req.url).toBe(expected);
});
