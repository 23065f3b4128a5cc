import { createLogger } from '@svault/server-kit/logger';
import type { Id } from '@svault/shared';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { NewAuditEvent } from '../core/audit-event.ts';
import { type AuditCommit, createAuditWriter } from './audit-writer.ts';

const event = (serviceName: string): NewAuditEvent => ({
  vaultId: 'vlt_1' as Id<'vlt'>,
  eventType: 'AGENT_CREDENTIAL_ACCESS',
  outcome: 'success',
  serviceName,
});

function writerOn(
  write: AuditCommit['write'],
  commit: AuditCommit['commit'] = () => Promise.resolve(undefined),
) {
  const destination = new PassThrough();
  const logger = createLogger({ name: 'test', level: 'error', format: 'json', destination });
  const lines = (): string[] =>
    String(destination.read() ?? '')
      .split('\n')
      .filter((line) => line !== '');
  return { writer: createAuditWriter({ log: { write, commit }, logger }), lines };
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

it('commit resolves before the disk has the event, and durable once it has', async () => {
  const synced = Promise.withResolvers<void>();
  const { writer } = writerOn(
    () => Promise.resolve(true),
    () => Promise.resolve({ durable: synced.promise }),
  );
  const committed = await writer.commit(event('a'));
  let isDurable = false;
  const durable = committed?.durable.then(() => (isDurable = true));
  await nextTurn();
  expect(isDurable).toBe(false);
  synced.resolve();
  expect(await durable).toBe(true);
});

it('commit resolves to undefined where the precondition failed', async () => {
  const { writer } = writerOn(() => Promise.resolve(false));
  expect(await writer.commit(event('a'))).toBeUndefined();
});

it('a sync that fails is AUDIT_UNAVAILABLE, logged once, and harms nobody who does not wait for it', async () => {
  const failed = Promise.reject(new Error('input/output error'));
  const { writer, lines } = writerOn(
    () => Promise.resolve(true),
    () => Promise.resolve({ durable: failed }),
  );
  await writer.commit(event('a'));
  const committed = await writer.commit(event('b'));
  await expect(committed?.durable).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
  expect(lines()).toHaveLength(1);
});
