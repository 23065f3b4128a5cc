import { createLogger } from '@svault/server-kit/logger';
import type { Id } from '@svault/shared';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import type { NewAuditEvent } from '../core/audit-event.ts';
import { type AuditEntry, createAuditWriter } from './audit-writer.ts';

const event = (serviceName: string): NewAuditEvent => ({
  vaultId: 'vlt_1' as Id<'vlt'>,
  eventType: 'AGENT_CREDENTIAL_ACCESS',
  outcome: 'success',
  serviceName,
});

function writerOn(write: (entry: AuditEntry) => Promise<boolean>) {
  const destination = new PassThrough();
  const logger = createLogger({ name: 'test', level: 'error', format: 'json', destination });
  const lines = (): string[] =>
    String(destination.read() ?? '')
      .split('\n')
      .filter((line) => line !== '');
  return { writer: createAuditWriter({ log: { write }, logger }), lines };
}

it('record resolves to whether the event was written', async () => {
  const { writer } = writerOn(({ event: { serviceName } }) => Promise.resolve(serviceName === 'a'));
  expect(await Promise.all([writer.record(event('a')), writer.record(event('b'))])).toEqual([true, false]);
});

it('record throws AUDIT_UNAVAILABLE for each event of a failed write, and logs the failure once', async () => {
  const full = new Error('disk full');
  const { writer, lines } = writerOn(() => Promise.reject(full));
  const records = [writer.record(event('a')), writer.record(event('b'))];
  for (const record of records)
    await expect(record).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE', details: { retryAfter: 5 } });
  expect(lines()).toHaveLength(1);
});
