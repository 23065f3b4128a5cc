import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { storageAnswerSchemas, storageBatchSchema, storageOperationSchema } from './storage.ts';
import { SECRET_FIELD_NAMES, secretFieldIn } from './secret-fields.ts';

const accepts = (operation: unknown): boolean => storageOperationSchema.safeParse(operation).success;
const PUT = {
  op: 'proxies.put',
  proxyId: 'prx_1',
  serviceName: 'github',
  upstreamUrl: 'https://api.example/mcp?x=1',
  headerTemplates: { Authorization: 'Bearer ${TOKEN}' },
};
const EVENT = { id: 'evt_1', eventType: 'LOGIN', timestamp: '2026-01-01T00:00:00Z', outcome: 'success' };

describe('storage operations', () => {
  it.each([
    { op: 'tokens.list' },
    { op: 'tokens.list', limit: 500, cursor: 'x', expiresBefore: '2026-01-01T00:00:00Z', unknown: 1 },
    { op: 'tokens.get', serviceName: 'github' },
    { op: 'tokens.delete', serviceName: 'github', ifVersion: 3 },
    PUT,
    { ...PUT, ifVersion: 0, headerTemplates: { secret: 'x', 'x-a': '$<TOKEN>', 'x-b': '' } },
    { ...PUT, upstreamUrl: 'http://127.0.0.1:9000/' },
    { op: 'proxies.get', proxyId: 'prx_1' },
    { op: 'proxies.list', limit: 1 },
    { op: 'proxies.delete', proxyId: 'prx_1' },
    { op: 'audit.append', events: [{ ...EVENT, count: 2, detail: { any: [1, null] } }] },
    { op: 'audit.list', limit: 100, agentId: 'agt_1' },
  ])('are accepted: %o', (operation) => {
    expect(accepts(operation)).toBe(true);
  });

  it.each([
    {},
    { op: 'tokens.put' },
    { op: 'toString' },
    { op: 'tokens.list', limit: 0 },
    { op: 'tokens.list', limit: 501 },
    { op: 'tokens.list', limit: 1.5 },
    { op: 'tokens.list', limit: '1' },
    { op: 'audit.list', limit: 101 },
    { op: 'tokens.get', serviceName: 'a/b' },
    { op: 'tokens.get', serviceName: 'a\0' },
    { op: 'tokens.get', serviceName: ['github'] },
    { op: 'tokens.delete', serviceName: 'github', ifVersion: -1 },
    { op: 'audit.append', events: Array.from({ length: 501 }, () => EVENT) },
    { op: 'audit.append', events: [{ ...EVENT, detail: { text: 'x'.repeat(8192) } }] },
    { op: 'audit.append', events: [{ ...EVENT, timestamp: 'yesterday' }] },
    { ...PUT, headerTemplates: undefined },
    { ...PUT, headerTemplates: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`x-${n}`, ''])) },
    { ...PUT, headerTemplates: { 'x-a': 'x'.repeat(4097) } },
    { ...PUT, headerTemplates: { 'x-a': 'a\r\nb' } },
    { ...PUT, headerTemplates: { 'x-a': 'a\0' } },
    { ...PUT, headerTemplates: { 'x-a': 'é' } },
    { ...PUT, headerTemplates: { 'x a': '' } },
    { ...PUT, headerTemplates: { '': '' } },
    { ...PUT, headerTemplates: { 'x-a': '1', 'X-A': '2' } },
    { ...PUT, upstreamUrl: 'ftp://api.example/' },
    { ...PUT, upstreamUrl: 'https://user@api.example/' },
    { ...PUT, upstreamUrl: 'https://@api.example/' },
    { ...PUT, upstreamUrl: 'https://api.example/#a' },
    { ...PUT, upstreamUrl: 'https://api.example\\@evil.example/' },
    { ...PUT, upstreamUrl: '//api.example/' },
  ])('are rejected: %o', (operation) => {
    expect(accepts(operation)).toBe(false);
  });

  it.each([
    'Host',
    'content-length',
    'Transfer-Encoding',
    'connection',
    'keep-alive',
    'TE',
    'trailer',
    'upgrade',
    'expect',
    'via',
    'forwarded',
    'X-Forwarded-For',
    'proxy-authorization',
    'sv-ticket',
  ])('set no %s from a template', (name) => {
    expect(accepts({ ...PUT, headerTemplates: { [name]: 'x' } })).toBe(false);
  });

  it('come in batches of 1 to 100, each parsed separately', () => {
    const batch = (count: number) => ({ batch: Array.from({ length: count }, () => ({ op: 'nonsense' })) });
    expect(storageBatchSchema.safeParse(batch(1)).success).toBe(true);
    expect(storageBatchSchema.safeParse(batch(100)).success).toBe(true);
    expect(storageBatchSchema.safeParse(batch(0)).success).toBe(false);
    expect(storageBatchSchema.safeParse(batch(101)).success).toBe(false);
  });
});

describe('secret names', () => {
  it('are detected at any depth and in any case', () => {
    for (const name of SECRET_FIELD_NAMES) {
      expect(secretFieldIn({ op: 'x', [name]: 1 })).toBe(name);
      expect(
        secretFieldIn({ op: 'x', events: [{ detail: { deep: [[{ [name.toUpperCase()]: null }]] } }] }),
      ).toBe(name.toUpperCase());
    }
  });

  it('are allowed as names of headers and parameters of the operation, and nowhere deeper', () => {
    expect(secretFieldIn({ ...PUT, headerTemplates: { Secret: '${TOKEN}', password: 'x' } })).toBeUndefined();
    expect(secretFieldIn({ ...PUT, queryTemplates: { secret: '${TOKEN}' } })).toBeUndefined();
    expect(secretFieldIn({ ...PUT, headerTemplates: { 'x-a': { secret: 1 } } })).toBe('secret');
    expect(secretFieldIn({ ...PUT, queryTemplates: { a: { secret: 1 } } })).toBe('secret');
    expect(secretFieldIn({ op: 'x', detail: { headerTemplates: { secret: 1 } } })).toBe('secret');
    expect(secretFieldIn({ op: 'x', secretName: 1, values: [1, 'secret'] })).toBeUndefined();
  });
});

describe('every schema of a response', () => {
  it.each(Object.entries(storageAnswerSchemas))('%s exports as JSON Schema', (_op, schema) => {
    expect(() => z.toJSONSchema(schema, { io: 'output' })).not.toThrow();
    expect(z.toJSONSchema(schema, { io: 'input' })).toHaveProperty('type', 'object');
  });
});
