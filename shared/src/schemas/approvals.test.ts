import { describe, expect, it } from 'vitest';
import { approvalListSchema, approvalRequestSchema, approvalSettingSchema } from './approvals.ts';

const PROXY = { type: 'proxy', proxyId: 'prx_1', method: 'GET' };
const DIGEST = `sha-256=:${'A'.repeat(43)}=:`;
const isTaken = (operation: object, more: object = {}): boolean =>
  approvalRequestSchema.safeParse({ serviceName: 'a', sub: 'agt_1', operation, ...more }).success;

describe('the setting', () => {
  it.each([
    [{ by: 'passkey', for: ['credential'] }, true],
    [{ by: 'passkey', for: ['proxy', 'credential'], standingSeconds: 28_800 }, true],
    [{ by: 'passkey', for: ['proxy', 'proxy'] }, false],
    [{ by: 'passkey', for: ['proxy'], standingSeconds: 60.5 }, false],
    [{ by: 'passkey' }, false],
    [{ by: 'passkey', for: ['proxy'], note: 'x' }, false],
  ])('%j is taken: %s', (setting, taken) => {
    expect(approvalSettingSchema.safeParse(setting).success).toBe(taken);
  });
});

describe('a request', () => {
  it.each<[object, object, boolean]>([
    [{ type: 'credential' }, { name: 'a'.repeat(100), reason: 'a'.repeat(500) }, true],
    [{ type: 'store' }, {}, false],
    [PROXY, {}, true],
    [{ ...PROXY, body: 'YQ==', target: '/', fields: [['a', 'b']] }, {}, true],
    [{ ...PROXY, body: 'YQ' }, {}, false],
    [{ ...PROXY, body: Buffer.alloc(16_384).toString('base64') }, {}, true],
    [{ ...PROXY, body: Buffer.alloc(16_385).toString('base64') }, {}, false],
    [{ ...PROXY, bodyDigest: DIGEST, bodyBytes: 20_000 }, {}, true],
    [{ ...PROXY, bodyDigest: DIGEST }, {}, false],
    [{ ...PROXY, bodyBytes: 1 }, {}, false],
    [{ ...PROXY, bodyDigest: DIGEST, bodyBytes: 1, body: 'YQ==' }, {}, false],
    [{ ...PROXY, method: 'get' }, {}, false],
    [{ ...PROXY, fields: [['a', 'x'.repeat(16 * 1024)]] }, {}, false],
    [PROXY, { reason: 'a'.repeat(501) }, false],
  ])('%#', (operation, more, taken) => {
    expect(isTaken(operation, more)).toBe(taken);
  });
});

it('A list has 1 to 100 ids of approvals', () => {
  const id = `apr_${'A'.repeat(22)}`;
  const isList = (ids: unknown): boolean => approvalListSchema.safeParse({ ids }).success;
  expect([
    isList([id]),
    isList([]),
    isList(['agt_1']),
    isList(Array.from({ length: 101 }, () => id)),
  ]).toEqual([true, false, false, false]);
});
