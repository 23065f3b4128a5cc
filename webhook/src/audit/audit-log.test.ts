import { CHAIN_START, canonicalJson } from '@svault/shared/audit-chain';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { subjectOf } from './audit-log.ts';
import { type AuditEntry, canonicalEntry, entryHash } from './audit-store.ts';

it.each([
  ['agt_1', { agentId: 'agt_1' }],
  ['prx_1', { proxyId: 'prx_1' }],
  ['usr_1', { userId: 'usr_1' }],
])('the log names the subject %s by its kind', (sub, subject) => {
  expect(subjectOf(sub)).toEqual(subject);
});

it('An entry is hashed as its canonical JSON, whatever it says and whichever members it leaves out', () => {
  const text = fc.string({ unit: 'binary' });
  const absent = (values: fc.Arbitrary<string>) => fc.option(values, { nil: undefined });
  const entry: fc.Arbitrary<AuditEntry> = fc.record({
    ...{ epoch: text, seq: fc.maxSafeNat(), source: fc.constantFrom('webhook', 'service'), id: text },
    ...{ eventType: text, timestamp: text, outcome: text, count: fc.option(fc.nat(), { nil: undefined }) },
    ...{ agentId: absent(text), proxyId: absent(text), userId: absent(text) },
    ...{ serviceName: absent(text), detail: absent(text) },
  });
  fc.assert(fc.property(entry, (one) => canonicalEntry(one) === canonicalJson(one)));
});

it('The hash of an entry is the one that logs have always had', () => {
  const entry = { epoch: 'e', seq: 1, source: 'webhook', id: 'e.1', eventType: 'LOG_STARTED' } as const;
  const hash = entryHash(CHAIN_START, {
    ...entry,
    timestamp: '2026-01-01T00:00:00.000Z',
    outcome: 'success',
  });
  expect(hash).toBe('c0a6af08afb4e7605f5ca2723ffc951717aeadc5348deef12a9ef80848c62531');
});
