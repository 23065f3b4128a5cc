import type { Id } from '@svault/shared';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AuditDetail, type NewAuditEvent, stampEvent } from '../core/audit-event.ts';
import { EMPTY_CHAIN, followChain } from '@svault/shared/audit-chain';
import { linkEvent } from './chain.ts';

const event: NewAuditEvent = {
  vaultId: 'vlt_1' as Id<'vlt'>,
  eventType: 'AGENT_CREDENTIAL_ACCESS',
  outcome: 'success',
  agentId: 'agt_1' as Id<'agt'>,
  serviceName: 'github',
};

function chainOf(length: number, of: NewAuditEvent = event) {
  let head = EMPTY_CHAIN;
  return Array.from({ length }, (_, index) => {
    const linked = linkEvent(head, stampEvent(of, index * 1000));
    head = linked;
    return linked;
  });
}

describe('a chain', () => {
  it('covers the origin of each event', () => {
    const origin = { requestId: 'req_1', channel: 'rest', address: '192.0.2.1', userAgent: 'curl' } as const;
    const [linked] = chainOf(1, { ...event, origin });
    const changed = [{ ...origin, address: '192.0.2.2' }, { ...origin, userAgent: undefined }, undefined];
    expect(followChain(EMPTY_CHAIN, [linked!])).toMatchObject({ seq: 1 });
    for (const other of changed)
      expect(followChain(EMPTY_CHAIN, [{ ...linked!, origin: other }])).toEqual({
        seq: 1,
        problem: 'changed',
      });
  });

  it('does not tell an event with an empty origin from one without', () => {
    const [linked] = chainOf(1, { ...event, origin: {} });
    expect(followChain(EMPTY_CHAIN, [{ ...linked!, origin: undefined }])).toMatchObject({ seq: 1 });
  });

  it('verifies as it was written, whole or page by page', () => {
    const events = chainOf(10);
    const head = { seq: 10, hash: events[9]!.hash };
    expect(followChain(EMPTY_CHAIN, events)).toEqual(head);
    const half = followChain(EMPTY_CHAIN, events.slice(0, 5));
    expect(half).toEqual({ seq: 5, hash: events[4]!.hash });
    expect('hash' in half && followChain(half, events.slice(5))).toEqual(head);
  });

  it("does not depend on the order of an event's details, or on their JSON round trip", () => {
    const value = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.string()));
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ minLength: 1 }).filter((name) => name !== '__proto__'),
          value,
        ),
        (detail) => {
          const linked = linkEvent(EMPTY_CHAIN, { ...stampEvent(event, 0), detail });
          const reversed = Object.fromEntries(Object.entries(detail).toReversed());
          const read = JSON.parse(JSON.stringify(reversed)) as typeof detail;
          expect(followChain(EMPTY_CHAIN, [{ ...linked, detail: read }])).toMatchObject({
            hash: linked.hash,
          });
        },
      ),
    );
  });
});

describe('an event', () => {
  it('cannot have a detail named like a secret', () => {
    for (const name of ['secret', 'accessToken', 'PASSWORD'])
      expect(() => stampEvent({ ...event, detail: { [name]: 'x' } }, 0)).toThrow(TypeError);
  });

  it('loses details that exceed the size that a webhook takes: lists first, then long texts, then all', () => {
    const stamped = (detail: AuditDetail) => stampEvent({ ...event, detail }, 0).detail;
    const members = Array.from({ length: 200 }, (_, index) => `member ${index}`);
    expect(stamped({ webhookId: 'whk_1', url: 'x'.repeat(5000), members, count: 3 })).toEqual({
      webhookId: 'whk_1',
      url: `${'x'.repeat(100)}…`,
      count: 3,
      truncated: true,
    });
    const many = Object.fromEntries(members.map((member) => [member, 'x'.repeat(90)]));
    expect(stamped(many)).toEqual({ truncated: true });
  });

  it.each(['\ud800', 'a\udc00b', '\0', 'x\0\ud83d'])(
    'replaces characters that a database cannot store: %j',
    (text) => {
      const { detail } = stampEvent(
        { ...event, detail: { name: text, tags: ['\\ud800 is fine', text], n: 1 } },
        0,
      );
      expect(detail).toMatchObject({ name: text.replaceAll(/[\0\ud800-\udfff]/g, '\ufffd'), n: 1 });
      expect(detail?.['tags']).toEqual(['\\ud800 is fine', detail?.['name']]);
    },
  );

  it('is truncated between characters', () => {
    const { detail } = stampEvent({ ...event, detail: { name: `x${'😀'.repeat(2000)}` } }, 0);
    expect(JSON.stringify(detail)).not.toContain('\\ud');
    expect(detail?.['name']).toMatch(/^x😀+.…$/u);
  });
});
