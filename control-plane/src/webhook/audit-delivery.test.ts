import type { Id } from '@svault/shared';
import { STORAGE_LIMITS, auditEventSchema } from '@svault/shared/schemas';
import { describe, expect, it } from 'vitest';
import { type NewAuditEvent, stampEvent } from '../core/audit-event.ts';
import { EMPTY_CHAIN, copiedEvent } from '@svault/shared/audit-chain';
import { linkEvent } from '../audit/chain.ts';
import { cutBatch } from './audit-delivery.ts';

const event: NewAuditEvent = {
  vaultId: `vlt_${'v'.repeat(22)}` as Id<'vlt'>,
  eventType: 'WEBHOOK_LOG_CONTRADICTION',
  outcome: 'rate_limited',
  agentId: `agt_${'a'.repeat(22)}` as Id<'agt'>,
  proxyId: `prx_${'p'.repeat(22)}` as Id<'prx'>,
  userId: `usr_${'u'.repeat(22)}` as Id<'usr'>,
  serviceName: 'github',
  count: 2 ** 40,
};

const events = (length: number, of = event) =>
  Array.from({ length }, () => linkEvent(EMPTY_CHAIN, stampEvent(of, Date.parse('2026-11-20T12:00:00Z'))));

const bodyBytes = (batch: ReturnType<typeof events>): number =>
  Buffer.byteLength(
    JSON.stringify({
      batch: [
        { op: 'audit.append', events: batch.map(copiedEvent) },
        { op: 'audit.list', limit: 1 },
      ],
    }),
  );

it('copiedEvent replaces lone surrogates, which a strict webhook would reject each time', () => {
  const [written] = events(1);
  const old = written && { ...written, detail: { name: 'x\ud800', tags: ['\udc00'] } };
  expect(old && copiedEvent(old).detail).toEqual({ name: 'x\ufffd', tags: ['\ufffd'] });
});

describe('a batch of audit events', () => {
  it('has no more events than the protocol allows', () => {
    expect(cutBatch(events(501))).toHaveLength(STORAGE_LIMITS.auditEvents);
    expect(cutBatch(events(3))).toHaveLength(3);
    expect(cutBatch([])).toEqual([]);
  });

  it.each([
    ['details in full', { ...event, detail: { text: '\u0000'.repeat(150) } }],
    ['details outside ASCII', { ...event, detail: { text: '語'.repeat(900) } }],
    ['the longest names', { ...event, serviceName: '\u{10FFFF}'.repeat(63) }],
  ])('stays within 1 MiB with %s', (_name, of) => {
    const batch = cutBatch(events(500, of));
    expect(batch.length).toBeGreaterThan(100);
    expect(bodyBytes([...batch])).toBeLessThanOrEqual(1024 * 1024);
  });

  it('has events of the protocol’s schema, whole but for vault, place and hash', () => {
    const [first] = events(1, { ...event, detail: { name: '語'.repeat(1000) } });
    const wire = copiedEvent(first!);
    expect(auditEventSchema.safeParse(wire).success).toBe(true);
    const { vaultId: _vaultId, ...sent } = event;
    expect(wire).toEqual({ ...sent, id: first!.id, timestamp: first!.timestamp, detail: first!.detail });
  });
});
