import { silentLogger } from '@svault/server-kit/logger';
import type { Id } from '@svault/shared';
import { describe, expect, it } from 'vitest';
import type { NewAuditEvent } from './audit-event.ts';
import { type AuditEntry, createAuditWriter } from './audit-writer.ts';

const event = (serviceName: string): NewAuditEvent => ({
  vaultId: 'vlt_1' as Id<'vlt'>,
  eventType: 'AGENT_CREDENTIAL_ACCESS',
  outcome: 'success',
  serviceName,
});

/** A log whose transactions begin and end when the test says so. */
function manualLog() {
  const waiting: {
    take: () => readonly AuditEntry[];
    end: (error?: Error, leftOut?: ReadonlySet<AuditEntry>) => void;
  }[] = [];
  const log = {
    commit: (take: () => readonly AuditEntry[]) =>
      new Promise<ReadonlySet<AuditEntry>>((resolve, reject) => {
        waiting.push({
          take,
          end: (error, leftOut = new Set()) => (error === undefined ? resolve(leftOut) : reject(error)),
        });
      }),
  };
  return { waiting, writer: createAuditWriter({ log, logger: silentLogger }) };
}

const names = (entries: readonly AuditEntry[]) => entries.map((entry) => entry.event.serviceName);

describe('the audit writer', () => {
  it('puts into one transaction what comes before it begins, and into the next what comes after', async () => {
    const { waiting, writer } = manualLog();
    const first = writer.record(event('a'));
    const second = writer.record(event('b'));
    expect(names(waiting[0]!.take())).toEqual(['a', 'b']);
    const third = writer.record(event('c'));
    expect(waiting).toHaveLength(2);
    expect(names(waiting[0]!.take())).toEqual(['a', 'b']);
    expect(names(waiting[1]!.take())).toEqual(['c']);
    waiting[0]!.end();
    await Promise.all([first, second]);
    waiting[1]!.end();
    await third;
  });

  it('resolves nobody before the commit, and refuses all of a commit that failed', async () => {
    const { waiting, writer } = manualLog();
    let settled = false;
    const record = writer.record(event('a')).finally(() => (settled = true));
    waiting[0]!.take();
    await Promise.resolve();
    expect(settled).toBe(false);
    waiting[0]!.end(new Error('disk full'));
    await expect(record).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE', details: { retryAfter: 5 } });
  });

  it('does not leave entries of a transaction that never began to a later one', async () => {
    const { waiting, writer } = manualLog();
    const record = writer.record(event('a'));
    waiting[0]!.end(new Error('busy'));
    await expect(record).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
    const next = writer.record(event('b'));
    expect(names(waiting[1]!.take())).toEqual(['b']);
    waiting[1]!.end();
    await next;
  });

  it('tells each caller whether its own event was written', async () => {
    const { waiting, writer } = manualLog();
    const records = [writer.record(event('a')), writer.record(event('b'))];
    const [, second] = waiting[0]!.take();
    waiting[0]!.end(undefined, new Set([second!]));
    expect(await Promise.all(records)).toEqual([true, false]);
  });
});
