import { type Id, ManualClock, formatTime, newId } from '@svault/shared';
import {
  CHAIN_START,
  chainHash,
  checkpointText,
  createCosignerKey,
  isSignedBy,
  readCheckpoint,
} from '@svault/shared/audit-chain';
import { silentLogger } from '@svault/server-kit/logger';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../src/core/audit-event.ts';
import type { Database } from '../../src/store/database.ts';
import { createCheckpointKeys } from '../../src/webhook/checkpoint-key.ts';
import { createCheckpointing } from '../../src/webhook/checkpoints.ts';
import { useStore } from './open-store.ts';
import { linkOf } from './stored-access.ts';

interface Operation {
  readonly op: string;
  readonly checkpoint: string;
  readonly key: string;
  readonly previous: string;
  readonly events: readonly string[];
}

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
const WEBHOOK = 'whk_1';
const COSIGNER = createCosignerKey('vault.example.org', new Uint8Array(32).fill(7));
let database: Database;
let vaultId: Id<'vlt'>;
let asked: Operation[];
let healthCalls: number;
let capabilities: string[];
/** What the webhook answers. */
let answer: (operation: Operation) => object;
/** Delays an answer. */
let arrived: (() => Promise<void>) | undefined;
let checkpointing: ReturnType<typeof createCheckpointing>;

useStore((opened) => (database = opened), clock);

const cosigned = ({ checkpoint }: Operation, key = COSIGNER): object => ({
  cosignature: key.cosign(readCheckpoint(checkpoint).text, clock.now()),
  key: key.vkey,
});
const refused = (code: string, more: object = {}) => ({ error: 'refused', code, ...more });

function open(): ReturnType<typeof createCheckpointing> {
  const { stores, unitOfWork, masterKeys } = database;
  return createCheckpointing({
    ...{ unitOfWork, clock, logger: silentLogger, stores },
    checkpointKeyOf: createCheckpointKeys(masterKeys, 'https://svault.example.org'),
    webhook: {
      call: async (link, { path, body }) => {
        if (path === '/v1/health') {
          healthCalls += Number(link.vaultId === vaultId);
          const health = { status: 'ok', protocol: 'v1', version: '0', webhookId: WEBHOOK, capabilities };
          return { body: { ...health, time: formatTime(clock.now()) }, latencyMs: 1 };
        }
        // Accounts of other tests are in the same database.
        if (link.vaultId !== vaultId) return { body: {}, latencyMs: 1 };
        const { batch } = body as { batch: readonly [Operation] };
        asked.push(batch[0]);
        await arrived?.();
        return { body: { results: [answer(batch[0])] }, latencyMs: 1 };
      },
    },
  });
}

beforeEach(async () => {
  vaultId = newId('vlt');
  [asked, healthCalls, capabilities, answer] = [[], 0, ['audit-checkpoints'], cosigned];
  await database.unitOfWork.run(vaultId, async ({ vaults, webhookLinks }) => {
    await vaults.add({ id: vaultId, createdAt: formatTime(clock.now()) });
    await webhookLinks.insert({ ...linkOf(vaultId, WEBHOOK), capabilities: ['audit-checkpoints'] });
  });
  arrived = undefined;
  checkpointing = open();
});

/** Writes so many events, which the webhook acknowledges. */
async function ship(count: number): Promise<void> {
  const event = { vaultId, eventType: 'LOGIN', outcome: 'success' } as const;
  await database.unitOfWork.run(vaultId, ({ audit }) =>
    audit.appendAll(Array.from({ length: count }, () => event)),
  );
  const { head, shippedSeq } = await database.stores.audit.chainOf(vaultId);
  await database.stores.audit.markShipped(vaultId, shippedSeq, head.seq);
}
async function pass(by = checkpointing): Promise<void> {
  clock.advance(60_000);
  await by.round();
  await by.settled();
}
const stored = () => database.stores.auditCheckpoints.find(vaultId, WEBHOOK);
const headOf = async () => (await database.stores.audit.chainOf(vaultId)).head;
const hashOf = async (seq: number): Promise<string> =>
  (await database.stores.audit.after(vaultId, seq - 1, 1))[0]!.hash;
const reports = async (): Promise<AuditEvent[]> =>
  (await database.stores.audit.after(vaultId, 0, 2_000)).filter(
    ({ eventType }) => eventType === 'CHECKPOINT_REFUSED',
  );

describe('a log that a webhook cosigns', () => {
  it('is cosigned page by page up to what the webhook has acknowledged, with texts that lead from hash to hash', async () => {
    await ship(10);
    await pass();
    expect(asked[0]).toMatchObject({ op: 'audit.checkpoint', previous: CHAIN_START });
    await ship(600);
    await pass();
    expect(asked.map(({ checkpoint }) => readCheckpoint(checkpoint).size)).toEqual([10, 260, 510, 610]);
    let last = CHAIN_START;
    for (const { previous, events, checkpoint, key } of asked) {
      expect([previous, isSignedBy(checkpoint, key)]).toEqual([last, true]);
      last = events.reduce(chainHash, previous);
      expect(readCheckpoint(checkpoint).hash).toBe(last);
    }
    const head = await headOf();
    expect([last, await stored()]).toEqual([head.hash, expect.objectContaining({ size: head.seq })]);
    const { note = '' } = (await stored()) ?? {};
    expect(
      note.startsWith(checkpointText({ origin: `svault.example.org/${vaultId}`, size: 610, hash: last })),
    ).toBe(true);
    expect([isSignedBy(note, asked[0]!.key), isSignedBy(note, COSIGNER.vkey)]).toEqual([true, true]);
    await pass();
    expect(asked).toHaveLength(4);
  });

  it('begins with its newest page where it was long before, and with its newest event where the webhook lacks others', async () => {
    await ship(600);
    answer = (operation) => (operation.events.length > 1 ? refused('INVALID_REQUEST') : cosigned(operation));
    await pass();
    expect(asked.map(({ events }) => events.length)).toEqual([250, 1]);
    expect(asked.map(({ previous }) => previous)).toEqual([await hashOf(350), await hashOf(599)]);
    expect([await stored(), await reports()]).toEqual([expect.objectContaining({ size: 600 }), []]);
  });

  it('is not cosigned where its events are gone, and is asked about nothing', async () => {
    await ship(20);
    await pass();
    await ship(5);
    await database.kysely
      .deleteFrom('audit_events')
      .where('vault_id', '=', vaultId)
      .where('seq', '>', 20)
      .execute();
    await pass();
    expect([asked.length, (await stored())?.size]).toEqual([1, 20]);
  });

  it('goes on behind the checkpoint of a webhook that was restored from a backup', async () => {
    await ship(20);
    await pass();
    await ship(10);
    const known = { size: 12, hash: await hashOf(12) };
    answer = (operation) =>
      operation.previous === known.hash ? cosigned(operation) : refused('CHECKPOINT_CONFLICT', known);
    await pass();
    expect([await stored(), await reports()]).toEqual([expect.objectContaining({ size: 30 }), []]);
  });

  it('is cosigned for two processes at once, and no older checkpoint replaces a newer one', async () => {
    await ship(5);
    const both = Promise.withResolvers<void>();
    arrived = () => (asked.length === 2 && both.resolve(), both.promise);
    await Promise.all([pass(), pass(open())]);
    expect((await stored())?.size).toBe(5);
    const newest = await stored();
    expect(await database.stores.auditCheckpoints.put({ ...newest!, size: 3 }, 0)).toBe(false);
    expect(await stored()).toEqual(newest);
  });
});

describe('a webhook that cosigns no further', () => {
  it.each([
    ['knows more events than the log has', 99],
    ['knows another event in the place', 3],
  ])(
    'is reported once where it %s, again with another answer, and no more once it cosigns',
    async (_why, size) => {
      await ship(5);
      await pass();
      await ship(5);
      const conflict = { size, hash: 'f'.repeat(64) };
      answer = () => refused('CHECKPOINT_CONFLICT', conflict);
      for (const _pass of [1, 2, 3]) {
        await pass();
        await ship(1);
      }
      expect(await reports()).toMatchObject([
        {
          outcome: 'error',
          detail: {
            webhookId: WEBHOOK,
            reason: 'CHECKPOINT_CONFLICT',
            size: 10,
            hash: await hashOf(10),
            webhookSize: size,
            webhookHash: conflict.hash,
          },
        },
      ]);
      expect(await stored()).toMatchObject({ size: 5, refusedAt: expect.any(String) });
      conflict.hash = 'e'.repeat(64);
      await pass();
      expect(await reports()).toHaveLength(2);
      answer = cosigned;
      await ship(1);
      await pass();
      expect(await stored()).toMatchObject({
        size: (await headOf()).seq,
        refusal: undefined,
        refusedAt: undefined,
      });
    },
  );

  it('is reported where it refuses every form, and not where an older version has replaced it', async () => {
    await ship(5);
    answer = () => refused('INVALID_REQUEST');
    capabilities = [];
    await pass();
    expect(await reports()).toEqual([]);
    capabilities = ['audit-checkpoints'];
    await database.stores.webhookLinks.noteSeen(
      { vaultId, webhookId: WEBHOOK },
      { at: formatTime(clock.now()), latencyMs: 1, capabilities },
    );
    await pass();
    await pass();
    expect(await reports()).toMatchObject([{ detail: { reason: 'INVALID_REQUEST', size: 5 } }]);
  });

  it('is reported once where it signs by another key, which is trusted when it is bound anew', async () => {
    await ship(5);
    await pass();
    const moved = createCosignerKey('moved.example.org', new Uint8Array(32).fill(7));
    answer = (operation) => cosigned(operation, moved);
    await ship(1);
    await pass();
    expect(await stored()).toMatchObject({ size: 6, webhookKey: moved.vkey });
    const other = createCosignerKey('vault.example.org', new Uint8Array(32).fill(8));
    answer = (operation) => cosigned(operation, other);
    for (const _pass of [1, 2]) {
      await ship(1);
      await pass();
    }
    expect(await reports()).toMatchObject([{ detail: { reason: 'KEY_CHANGED', webhookKey: other.vkey } }]);
    expect(await stored()).toMatchObject({ size: 6, webhookKey: moved.vkey });
    await database.unitOfWork.run(vaultId, async ({ webhookLinks }) => {
      await webhookLinks.delete(vaultId);
      const boundAt = formatTime(clock.now());
      await webhookLinks.insert({ ...linkOf(vaultId, WEBHOOK), capabilities, boundAt });
    });
    await pass();
    expect(await stored()).toMatchObject({ webhookKey: other.vkey, refusal: undefined });
  });

  it.each<[string, (operation: Operation) => object]>([
    ['no signature', () => ({ cosignature: '', key: COSIGNER.vkey })],
    [
      'the signature of another checkpoint',
      () => ({ cosignature: COSIGNER.cosign('a\n1\n' + 'A'.repeat(43) + '=\n', 0), key: COSIGNER.vkey }),
    ],
    [
      'the control plane’s own key',
      ({ key, checkpoint }) => ({ cosignature: checkpoint.split('\n\n')[1], key }),
    ],
    [
      'two signatures',
      (operation) => {
        const { cosignature, key } = cosigned(operation) as { cosignature: string; key: string };
        return { cosignature: cosignature + cosignature, key };
      },
    ],
    ['a key that is none', (operation) => ({ ...cosigned(operation), key: 'x' })],
    ['an unknown code', () => refused('UNAVAILABLE')],
  ])('has nothing stored for an answer with %s', async (_what, given) => {
    await ship(5);
    answer = given;
    await pass();
    expect([asked.length, await stored(), await reports()]).toEqual([1, undefined, []]);
    answer = cosigned;
    // The pause after a failure.
    clock.advance(60_000);
    await pass();
    expect(await stored()).toMatchObject({ size: 5 });
  });
});

it('a webhook without the capability is asked for it in one of sixty passes, and for nothing else', async () => {
  await database.stores.webhookLinks.noteSeen(
    { vaultId, webhookId: WEBHOOK },
    { at: formatTime(clock.now()), latencyMs: 1, capabilities: [] },
  );
  capabilities = [];
  await ship(5);
  for (let passes = 0; passes < 60; passes += 1) await pass();
  expect([healthCalls, asked]).toEqual([1, []]);
  capabilities = ['audit-checkpoints'];
  await pass();
  expect([healthCalls, asked.length]).toEqual([2, 1]);
});
