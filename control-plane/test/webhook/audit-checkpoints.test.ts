import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger } from '@svault/server-kit/logger';
import { type Id, Secret } from '@svault/shared';
import { eventHash, isSignedBy, readCheckpoint } from '@svault/shared/audit-chain';
import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { webhookSubcommand } from '@svault/test-kit/webhook-subcommand';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { databaseSetting } from '../../src/config/database-setting.ts';
import { openDatabase } from '../../src/store/open-database.ts';
import type { Database } from '../../src/store/database.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import type { LoggedEvent } from '../support/service-steps.ts';

// Both programs; test/store/audit-checkpoints.test.ts has answers that the reference webhook does not give.

const jobs = jobsByHand();
let service: PairedService;
let vaultId: Id<'vlt'>;
/** The control plane's database, beside it. */
let database: Database;

beforeEach(async () => {
  service = await startPairedService({ startJob: jobs.startJob });
  ({ vaultId } = (await service.admin('GET', '/api/me')).json as { vaultId: Id<'vlt'> });
  const rootKey = new Secret(Buffer.from(service.pair.masterKeys['control-plane'], 'base64url'));
  const opening = { clock: service.clock, logger: silentLogger, opener: 'tool' } as const;
  database = await openDatabase(databaseSetting.parse(service.pair.databaseUrl), [rootKey], opening);
});
afterEach(async () => {
  await database.close();
  await service.stop();
});

const write = (count: number): Promise<void> =>
  database.unitOfWork.run(vaultId, ({ audit }) =>
    audit.appendAll(
      Array.from({ length: count }, () => ({
        vaultId,
        eventType: 'LOGIN' as const,
        outcome: 'success' as const,
      })),
    ),
  );
const chain = () => database.stores.audit.chainOf(vaultId);
const waitUntil = (holds: () => Promise<boolean>): Promise<void> =>
  expect.poll(holds, { timeout: 30_000, interval: 20 }).toBe(true);
const ship = (): Promise<void> =>
  waitUntil(async () => {
    service.clock.advance(1_000);
    await jobs.run('audit shipping');
    const { head, shippedSeq } = await chain();
    return shippedSeq === head.seq;
  });
const checkpoint = async () => {
  const { status, json } = await service.admin('GET', '/api/audit/checkpoint');
  return { status, ...(json as { checkpoint: string; size: number; keys: readonly [string, string] }) };
};
const pass = async (): Promise<void> => {
  service.clock.advance(60_000);
  await jobs.run('audit checkpoints');
};
/** Passes until everything is cosigned. */
const cosign = (): Promise<void> =>
  waitUntil(async () => {
    await pass();
    return (await checkpoint()).size === (await chain()).shippedSeq;
  });
const reports = async (): Promise<readonly LoggedEvent[]> =>
  (await service.admin('GET', '/api/audit?eventType=CHECKPOINT_REFUSED&limit=100')).json.items;
const refusal = (count: number): Promise<void> =>
  waitUntil(async () => {
    await pass();
    return (await reports()).length === count;
  });
const webhook = (...args: readonly string[]) => webhookSubcommand(service.pair, ...args);

test('a growing log is cosigned over several pages and an outage, and both programs have the same note', async () => {
  expect(await checkpoint()).toMatchObject({ status: 404 });
  await write(10);
  await ship();
  await cosign();
  const first = await checkpoint();
  await write(600);
  await ship();
  await service.pair.stop('webhook');
  await pass();
  await service.pair.start('webhook');
  await cosign();
  const { checkpoint: note, keys, size } = await checkpoint();
  expect([size - first.size >= 600, keys]).toEqual([true, first.keys]);
  expect(keys.map((key) => isSignedBy(note, key))).toEqual([true, true]);
  const [event] = await database.stores.audit.after(vaultId, size - 1, 1);
  expect(readCheckpoint(note)).toMatchObject({ origin: `127.0.0.1:1/${vaultId}`, size, hash: event?.hash });
  expect(await webhook('audit', 'checkpoint')).toBe(note);
  expect((await webhook('audit', 'checkpoint', '--keys')).trimEnd().split('\n')).toEqual(keys);
  expect(await reports()).toEqual([]);
});

/** Changes an event and computes every hash again, as somebody who can write the whole database. */
async function rewrite(changedSeq: number): Promise<void> {
  let { hash } = (await chain()).start;
  const statements = [`UPDATE audit_events SET outcome = 'denied' WHERE seq = ${changedSeq}`];
  for (const event of await database.stores.audit.after(vaultId, 0, 10_000)) {
    hash = eventHash(hash, event.seq === changedSeq ? { ...event, outcome: 'denied' } : event);
    statements.push(`UPDATE audit_events SET hash = '${hash}' WHERE seq = ${event.seq}`);
  }
  await service.state.run([...statements, `UPDATE audit_chains SET head_hash = '${hash}'`].join(';'));
}

test('a log that was rewritten, with every hash computed again, is refused and reported once', async () => {
  await write(20);
  await ship();
  await cosign();
  const before = await checkpoint();
  await rewrite(5);
  expect((await service.admin('GET', '/api/audit/verify')).json).toMatchObject({ intact: true });
  await write(1);
  await ship();
  await refusal(1);
  await ship();
  for (let passes = 0; passes < 3; passes += 1) await pass();
  expect(await reports()).toMatchObject([
    {
      outcome: 'error',
      detail: {
        reason: 'CHECKPOINT_CONFLICT',
        size: before.size + 1,
        webhookSize: before.size,
        webhookHash: readCheckpoint(before.checkpoint).hash,
      },
    },
  ]);
  expect(await checkpoint()).toEqual(before);
  expect((await service.admin('GET', '/api/attention')).json.items).toContainEqual(
    expect.objectContaining({ kind: 'checkpoint_refused', severity: 'critical' }),
  );
});

test('a log whose end was cut off is refused and reported, until the owner resets the checkpoints', async () => {
  await write(20);
  await ship();
  await cosign();
  const before = await checkpoint();
  const [last] = await database.stores.audit.after(vaultId, before.size - 6, 1);
  await service.state.run(
    `DELETE FROM audit_events WHERE seq > ${last?.seq};
     UPDATE audit_chains SET head_seq = ${last?.seq}, shipped_seq = ${last?.seq}, head_hash = '${last?.hash}'`,
  );
  await refusal(1);
  expect(await reports()).toMatchObject([{ detail: { size: before.size - 5, webhookSize: before.size } }]);
  await ship();
  expect(await webhook('audit', 'reset-checkpoints')).toMatch(/^Forgotten/);
  await cosign();
  expect((await service.admin('GET', '/api/attention')).json.items).toEqual([]);
});

test('a webhook that was put back to an earlier day cosigns on where it lacks no event, and else once it is reset', async () => {
  const { dir } = service.pair;
  const [folder, saved] = [join(dir, 'webhook'), join(dir, 'saved')];
  const save = async (): Promise<void> => {
    await service.pair.stop('webhook');
    cpSync(folder, saved, { recursive: true });
    await service.pair.start('webhook');
  };
  const putBack = async (): Promise<void> => {
    await service.pair.stop('webhook');
    rmSync(folder, { recursive: true });
    cpSync(saved, folder, { recursive: true });
    await service.pair.start('webhook');
  };
  await write(20);
  await ship();
  await cosign();
  await write(10);
  await ship();
  await save();
  await cosign();
  await putBack();
  await write(1);
  await ship();
  await cosign();
  expect(await reports()).toEqual([]);

  await putBack();
  await write(1);
  await ship();
  await refusal(1);
  expect(await reports()).toMatchObject([
    { detail: { reason: 'INVALID_REQUEST', webhookSize: expect.any(Number) as number } },
  ]);
  await webhook('audit', 'reset-checkpoints');
  await cosign();
});
