import { silentLogger } from '@svault/server-kit/logger';
import { type Id, ManualClock } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import { type AuditEvent, stampEvent } from '../core/audit-event.ts';
import { EMPTY_CHAIN } from '@svault/shared/audit-chain';
import { linkEvent } from '../audit/chain.ts';
import { type AuditShipper, createAuditShipper } from './audit-shipper.ts';

const VAULT = 'vlt_1' as Id<'vlt'>;

let clock: ManualClock;
let events: AuditEvent[];
let cursor: number;
let delivered: number[][];
let answer: () => boolean;
let shipper: AuditShipper;

beforeEach(() => {
  clock = new ManualClock();
  events = [];
  cursor = 0;
  delivered = [];
  answer = () => true;
  shipper = createAuditShipper({
    log: {
      backlog: async () => (cursor < events.length ? [{ vaultId: VAULT, shippedSeq: cursor }] : []),
      after: async (_vaultId, seq, limit) => events.slice(seq, seq + limit),
    },
    destination: {
      deliver: async (shipment) => {
        if (!answer()) return false;
        delivered.push(shipment.events.map(({ seq }) => seq));
        cursor = shipment.events.at(-1)?.seq ?? cursor;
        return true;
      },
    },
    clock,
    logger: silentLogger,
  });
});

/** One round, to its end. */
const round = async (): Promise<void> => {
  await shipper.ship();
  await shipper.settled();
};

const write = (count: number): void => {
  for (let index = 0; index < count; index++) {
    const event = { vaultId: VAULT, eventType: 'LOGIN', outcome: 'success' } as const;
    events.push(linkEvent(events.at(-1) ?? EMPTY_CHAIN, stampEvent(event, 0)));
  }
};

describe('the audit shipper', () => {
  it('ships the whole backlog in order, one batch each round', async () => {
    write(601);
    for (let rounds = 0; rounds < 4; rounds++) await round();
    expect(delivered.map((batch) => batch.length)).toEqual([250, 250, 101]);
    expect(delivered.flat()).toEqual(events.map(({ seq }) => seq));
  });

  it('doubles its pause after each failure, up to a minute, and resets it after a success', async () => {
    write(1);
    answer = () => {
      throw new Error('away');
    };
    const pauses: number[] = [];
    for (let failures = 0; failures < 8; failures++) {
      let tried = 0;
      answer = () => {
        tried++;
        throw new Error('away');
      };
      let waited = 0;
      for (; tried === 0; waited += 500) {
        await round();
        if (tried === 0) clock.advance(500);
      }
      pauses.push(waited - 500);
    }
    expect(pauses).toEqual([0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]);
    answer = () => true;
    clock.advance(60_000);
    await round();
    expect(delivered).toEqual([[1]]);
  });

  it('keeps the backlog where no webhook is bound any more', async () => {
    write(3);
    answer = () => false;
    await round();
    expect(cursor).toBe(0);
    answer = () => true;
    await round();
    expect(delivered).toEqual([[1, 2, 3]]);
  });
});

describe('the audit logs of many accounts', () => {
  const vaultOf = (index: number): Id<'vlt'> => `vlt_${String(index).padStart(3, '0')}` as Id<'vlt'>;
  const VAULTS = Array.from({ length: 50 }, (_, index) => vaultOf(index));

  /** Every one of them always has something to ship; `stuck` never answer. */
  const shipperOf = (stuck: readonly Id<'vlt'>[], calls: Id<'vlt'>[]): AuditShipper => {
    write(1);
    return createAuditShipper({
      log: {
        backlog: async ({ after = '', limit }) =>
          VAULTS.filter((vaultId) => vaultId > after)
            .slice(0, limit)
            .map((vaultId) => ({ vaultId, shippedSeq: 0 })),
        after: async () => events,
      },
      destination: {
        deliver: async ({ vaultId }, signal) => {
          calls.push(vaultId);
          if (!stuck.includes(vaultId)) return true;
          return new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(new Error('stopped'))),
          );
        },
      },
      clock,
      logger: silentLogger,
    });
  };

  it('are shipped round-robin, however busy the first ones are', async () => {
    const calls: Id<'vlt'>[] = [];
    shipper = shipperOf([], calls);
    for (let rounds = 0; rounds < 3; rounds++) await round();
    expect(new Set(calls)).toEqual(new Set(VAULTS));
  });

  it('do not wait for webhooks that never answer, of which each has one call in flight', async () => {
    const stuck = VAULTS.slice(0, 25);
    const calls: Id<'vlt'>[] = [];
    shipper = shipperOf(stuck, calls);
    for (let rounds = 0; rounds < 10; rounds++) await shipper.ship();
    expect(new Set(calls)).toEqual(new Set(VAULTS));
    expect(calls.filter((vaultId) => stuck.includes(vaultId))).toHaveLength(stuck.length);
    await shipper.stop();
  });
});
