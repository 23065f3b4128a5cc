import { describe, expect, it } from 'vitest';
import { ManualClock } from '@svault/shared';
import { createRunOperation } from './operations.ts';
import { createWriteQuota } from './write-quota.ts';

const MIB = 1024 * 1024;

describe('the write quota', () => {
  it.each([
    ['audit', 64 * 1024],
    ['records', 16 * 1024],
  ] as const)('of %s is 64 MiB, refilled by %i bytes per second', (kind, bytesPerSecond) => {
    const clock = new ManualClock();
    const denials: unknown[] = [];
    const quota = createWriteQuota(clock, (labels) => denials.push(labels));
    quota.take(kind, 64 * MIB);
    const refusal = { code: 'RATE_LIMITED', reason: `write_quota_${kind}` };
    expect(() => quota.take(kind, 1)).toThrow(
      expect.objectContaining({ ...refusal, details: { retryAfter: 1 } }),
    );
    expect(() => quota.take(kind, 3 * bytesPerSecond)).toThrow(
      expect.objectContaining({ details: { retryAfter: 3 } }),
    );
    quota.take(kind === 'audit' ? 'records' : 'audit', 64 * MIB);
    clock.jump(3_600_000);
    expect(() => quota.take(kind, 1)).toThrow(/wait 1 seconds/);
    clock.advance(3_000);
    quota.take(kind, 3 * bytesPerSecond);
    expect(() => quota.take(kind, 1)).toThrow(/wait 1 seconds/);
    expect(denials).toEqual(Array.from({ length: 4 }, () => ({ kind })));
  });

  it('counts each row that an operation writes, and no audit event', async () => {
    const taken: [string, number][] = [];
    const none = () => undefined as never;
    const run = createRunOperation({
      vault: { delete: async () => true } as never,
      proxyConfigs: { put: async (config: object) => config, delete: async () => true } as never,
      audit: { appendServiceEvents: async () => undefined } as never,
      auditStore: { hasServiceEvent: (id) => id === 'known', page: none },
      checkpoints: { cosign: none },
      quota: { take: (kind, bytes) => void taken.push([kind, bytes]) },
    });
    const event = { eventType: 'X', timestamp: '2026-11-20T12:00:00Z', outcome: 'success' } as const;
    const proxy = { proxyId: 'p', serviceName: 's', upstreamUrl: 'https://a.test', headerTemplates: {} };
    await run({ op: 'tokens.delete', serviceName: 's' });
    await run({ op: 'proxies.put', ...proxy });
    await run({ op: 'proxies.delete', proxyId: 'p' });
    await run({ op: 'audit.append', events: [{ ...event, id: 'known' }] });
    await run({ op: 'audit.checkpoint', checkpoint: 'note', key: 'k', previous: '', events: ['text'] });
    await run({
      op: 'audit.append',
      events: [
        { ...event, id: 'known' },
        { ...event, id: 'new' },
      ],
    });
    expect(taken).toEqual([
      ['records', 256 + 2],
      ['records', 256 + JSON.stringify(proxy).length],
      ['records', 256 + 2],
      ['audit', 256 + 'note'.length],
      ['audit', 256 + JSON.stringify([{ ...event, id: 'new' }]).length],
    ]);
  });
});
