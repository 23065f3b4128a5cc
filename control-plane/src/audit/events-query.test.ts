import { newId } from '@svault/shared';
import { expect, it } from 'vitest';
import { readCursor } from '../core/paging.ts';
import { type AuditEvent, stampEvent } from '../core/audit-event.ts';
import type { AuditFilter } from '../core/audit-store.ts';
import { EMPTY_CHAIN } from '@svault/shared/audit-chain';
import { linkEvent } from './chain.ts';
import { findEvents } from './events-query.ts';

const vaultId = newId('vlt');
const events: AuditEvent[] = [];
for (let seq = 1; seq <= 1_000; seq++) {
  const serviceName = seq % 100 === 1 ? 'rare' : 'common';
  const event = stampEvent({ vaultId, eventType: 'GRANT_CREATED', outcome: 'success', serviceName }, 0);
  events.push(linkEvent(events.at(-1) ?? EMPTY_CHAIN, event));
}

/** A log that scans ten rows at a time. */
const log = {
  scan: async (
    _vaultId: string,
    { serviceName }: AuditFilter,
    page: { limit: number; before?: number | undefined },
  ) => {
    const rows = events
      .filter(({ seq }) => seq < (page.before ?? Infinity))
      .slice(-10)
      .toReversed();
    const fitting = rows.filter((event) => serviceName === undefined || event.serviceName === serviceName);
    const found = fitting.slice(0, page.limit);
    const reached = found.length === page.limit ? found.at(-1)?.seq : rows.at(9)?.seq;
    return { events: found, reached };
  },
};

const walk = async (filter: AuditFilter, limit: number): Promise<{ seqs: number[]; pages: number }> => {
  const seqs: number[] = [];
  let before: number | undefined;
  for (let pages = 1; ; pages++) {
    const page = await findEvents(log, vaultId, filter, { limit, before });
    seqs.push(...page.items.map(({ seq }) => seq));
    if (page.nextCursor === undefined) return { seqs, pages };
    before = Number(readCursor(page.nextCursor, 1)?.[0]);
  }
};

it('findEvents finds every event once, newest first, over several scans', async () => {
  const { seqs } = await walk({ serviceName: 'rare' }, 3);
  expect(seqs).toEqual([901, 801, 701, 601, 501, 401, 301, 201, 101, 1]);
  expect((await walk({}, 100)).seqs).toEqual(events.map(({ seq }) => seq).toReversed());
});

it('findEvents ends a page after a bounded number of scans, with a cursor and possibly no events', async () => {
  expect(await findEvents(log, vaultId, { serviceName: 'none' }, { limit: 50, before: undefined })).toEqual({
    items: [],
    nextCursor: expect.any(String),
  });
  expect(await walk({ serviceName: 'none' }, 50)).toEqual({ seqs: [], pages: 5 });
});
