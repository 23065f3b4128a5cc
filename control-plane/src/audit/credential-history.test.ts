import { randomBytes } from 'node:crypto';
import { aeadReady } from '@svault/server-kit/aead';
import { createMasterKeys } from '@svault/server-kit/master-keys';
import { type Id, fromBase64url, newId, toBase64url } from '@svault/shared';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type AuditEvent, stampEvent } from '../core/audit-event.ts';
import type { AuditFilter } from '../core/audit-store.ts';
import { EMPTY_CHAIN } from '@svault/shared/audit-chain';
import { linkEvent } from './chain.ts';
import { type HistorySubject, readCredentialHistory } from './credential-history.ts';

beforeAll(() => aeadReady());

const keys = createMasterKeys([randomBytes(32)]);
const vaultId = newId('vlt');
const agentId = newId('agt');
const github: HistorySubject = { vaultId, agentId, serviceName: 'github' };

/** A log in memory that counts the rows of each page it gave. */
class Log {
  readonly events: AuditEvent[] = [];
  readonly pages: number[] = [];

  /** @param services one row each, oldest first; undefined for rows of another agent */
  write(services: readonly (string | undefined)[]): this {
    for (const serviceName of services) {
      const ofAgent: Id<'agt'> = serviceName === undefined ? newId('agt') : agentId;
      const event = { vaultId, agentId: ofAgent, serviceName: serviceName ?? 'github' } as const;
      const stamped = stampEvent(
        { ...event, eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'success' },
        this.events.length,
      );
      this.events.push(linkEvent(this.events.at(-1) ?? EMPTY_CHAIN, stamped));
    }
    return this;
  }

  /** Times of this agent's rows with a service, newest first: each row has its own. */
  timesOf(serviceName: string): string[] {
    const own = this.events.filter((event) => event.agentId === agentId && event.serviceName === serviceName);
    return own.map(({ timestamp }) => timestamp).toReversed();
  }

  scan = async (
    _vaultId: Id<'vlt'>,
    filter: AuditFilter,
    page: { limit: number; before?: number | undefined },
  ) => {
    const fitting = this.events.filter(
      ({ seq, agentId: of }) => of === filter.agentId && seq < (page.before ?? Infinity),
    );
    const events = fitting.toReversed().slice(0, page.limit);
    this.pages.push(events.length);
    return { events, reached: events.length < page.limit ? undefined : events.at(-1)?.seq };
  };
}

async function call(log: Log, request: { limit?: number; cursor?: string } = {}, subject = github) {
  const answer = await readCredentialHistory({ log, keys }, subject, request);
  if (!answer.valid) throw new Error(`invalid: ${answer.argument}`);
  return { times: answer.history.map(({ timestamp }) => timestamp), nextCursor: answer.nextCursor };
}

async function walk(log: Log, limit: number, between: () => void = () => undefined): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const { times, nextCursor } = await call(log, { limit, ...(cursor !== undefined && { cursor }) });
    pages.push(times);
    cursor = nextCursor;
    between();
  } while (cursor !== undefined);
  return pages;
}

const rows = (count: number, serviceName = 'github') => Array.from({ length: count }, () => serviceName);

describe('readCredentialHistory', () => {
  // spec: credential_history page size is at most 50 (default 20).
  it('gives type, time and outcome, newest first, 20 by default', async () => {
    const log = new Log().write(rows(30));
    const answer = await readCredentialHistory({ log, keys }, github);
    expect(answer).toMatchObject({ valid: true, nextCursor: expect.any(String) });
    expect(answer.valid && answer.history).toHaveLength(20);
    expect(answer.valid && answer.history[0]).toEqual({
      eventType: 'AGENT_CREDENTIAL_ACCESS',
      timestamp: log.timesOf('github')[0],
      outcome: 'success',
    });
  });

  // spec: credential_history paging rules:
  // spec: Each call reads one page of at most 100 activity rows for the agent, then filters that page to the requested service.
  // spec: A call can return fewer than limit rows, even zero, while more history exists.
  // spec: It reads at most 100 log rows per page.
  it('reads one page of 100 rows a call, and may give no row and a cursor', async () => {
    const log = new Log().write(['github', ...rows(250, 'other')]);
    expect(await walk(log, 50)).toEqual([[], [], log.timesOf('github')]);
    expect(log.pages).toEqual([101, 101, 51]);
  });

  it('has the 100th row on the page and the 101st on the next', async () => {
    for (const [behind, pages] of [
      [99, 1],
      [100, 2],
    ] as const) {
      const log = new Log().write(['github', ...rows(behind, 'other')]);
      expect(await walk(log, 1)).toHaveLength(pages);
    }
  });

  it.each([0, 50, 100, 101])('gives no cursor with the last of %i rows', async (count) => {
    const log = new Log().write(rows(count));
    const pages = await walk(log, 50);
    expect(pages.flat()).toEqual(log.timesOf('github'));
    expect(pages.length).toBe(Math.max(1, Math.ceil(count / 50)));
  });

  it('continues after the last row that it gave, and ends where retention has removed the rest', async () => {
    const log = new Log().write(rows(100));
    const pages = await walk(log, 7);
    expect(pages.slice(0, -1).every(({ length }) => length === 7)).toBe(true);
    const { nextCursor = '' } = await call(log, { limit: 50 });
    log.events.splice(0, 50);
    expect(await call(log, { cursor: nextCursor })).toEqual({ times: [], nextCursor: undefined });
  });

  // spec: The caller keeps passing nextCursor as cursor.
  it('gives each row once over all cursors, also while rows are written', async () => {
    const row = fc.constantFrom('github', 'github', 'other', undefined);
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { maxLength: 450 }),
        fc.integer({ min: 1, max: 50 }),
        fc.array(row, { maxLength: 5 }),
        async (before, limit, meanwhile) => {
          const log = new Log().write(before);
          const expected = log.timesOf('github');
          const pages = await walk(log, limit, () => void log.write(meanwhile));
          expect(pages.flat()).toEqual(expected);
          for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('the arguments of readCredentialHistory', () => {
  it.each([0, 51, -1, 1.5, Number.NaN, Infinity])('do not allow limit %d', async (limit) => {
    const log = new Log().write(rows(3));
    expect(await readCredentialHistory({ log, keys }, github, { limit })).toEqual({
      valid: false,
      argument: 'limit',
    });
    expect(log.pages).toEqual([]);
  });

  it.each([1, 50])('allow limit %d', async (limit) => {
    expect(await readCredentialHistory({ log: new Log(), keys }, github, { limit })).toEqual({
      valid: true,
      history: [],
    });
  });

  const isInvalid = async (cursor: string, subject = github, by = keys): Promise<boolean> => {
    const log = new Log().write(rows(3));
    const answer = await readCredentialHistory({ log, keys: by }, subject, { cursor });
    return !answer.valid && answer.argument === 'cursor' && log.pages.length === 0;
  };

  it('allow a cursor only with its own agent, service and database', async () => {
    const { nextCursor = '' } = await call(new Log().write(rows(60)), { limit: 50 });
    expect(await isInvalid(nextCursor)).toBe(false);
    expect(await isInvalid(nextCursor, { ...github, serviceName: 'gitlab' })).toBe(true);
    expect(await isInvalid(nextCursor, { ...github, agentId: newId('agt') })).toBe(true);
    expect(await isInvalid(nextCursor, github, createMasterKeys([randomBytes(32)]))).toBe(true);
    // Both names are bound, not their concatenation.
    expect(await isInvalid(nextCursor, { ...github, serviceName: ':github' })).toBe(true);
  });

  it('do not allow to read the event number from a cursor', async () => {
    const log = new Log().write(rows(60));
    const cursors: Buffer[] = [];
    for (let n = 0; n < 8; n++) {
      const { nextCursor = '' } = await call(log, { limit: 50 });
      cursors.push(Buffer.from(fromBase64url(nextCursor) ?? []));
    }
    // By chance random bytes contain the two digits of event 11 too, but not those of all cursors.
    expect(cursors.every((bytes) => bytes.includes('11'))).toBe(false);
    expect(new Set(cursors.map(String)).size).toBe(cursors.length);
  });

  it('do not allow a cursor with one bit changed', async () => {
    const { nextCursor = '' } = await call(new Log().write(rows(60)), { limit: 50 });
    const bytes = fromBase64url(nextCursor) ?? new Uint8Array();
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Uint8Array.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect([bit, await isInvalid(toBase64url(changed))]).toEqual([bit, true]);
    }
  });

  it.each(['', 'x', '!!!', 'MQ', toBase64url(randomBytes(48)), 'A'.repeat(10_000)])(
    'do not allow the cursor %s',
    async (cursor) => expect(await isInvalid(cursor)).toBe(true),
  );
});
