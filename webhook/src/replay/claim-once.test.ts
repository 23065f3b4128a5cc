import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { aeadReady } from '@svault/server-kit/aead';
import { createGroupCommit } from '@svault/server-kit/group-commit';
import { createMasterKeys } from '@svault/server-kit/master-keys';
import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import { ManualClock } from '@svault/shared';
import { createBindingStore } from '../sqlite/binding-store.ts';
import { createClaimStore } from '../sqlite/claim-store.ts';
import { openVaultFile } from '../sqlite/vault-file.ts';
import { createClaimOnce, forgetExpiredClaims } from './claim-once.ts';
import { createTimeFloor } from './time-floor.ts';

const KEPT_MS = 90_000;

let dir: string;
let db: SqliteDatabase;
beforeAll(aeadReady);
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'svault-claim-once-'));
  db = openVaultFile(join(dir, 'webhook.db'), dir);
});
afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true });
});

it('A replay that was verified before its expiry is rejected after its claim was forgotten', async () => {
  const clock = new ManualClock();
  const bindings = createBindingStore(db, createMasterKeys([new Uint8Array(32)]));
  const wrappedSecret = new Uint8Array(32);
  const binding = { webhookId: 'whk_1', serviceBaseUrl: 'https://s.test', vaultId: 'vlt_1' };
  bindings.startBinding(binding, { id: 'k1', wrappedSecret });
  bindings.activatePendingKey(0);
  const claims = createClaimStore(db);
  const floor = createTimeFloor({ clock, store: claims });
  const commit = createGroupCommit(db);
  const audit = { appendNow: () => undefined };
  const claimOnce = createClaimOnce({ bindings, claims, floor, audit });

  const untilMs = clock.now() + KEPT_MS;
  const times = { confirmedMs: clock.now(), untilMs };
  const request = { keyId: 'k1', keyState: 'current', nonce: 'n', ...times } as const;
  const ticket = { keyId: 'k1', jti: 'j', untilMs };
  const claimRequest = () => commit.run(() => claimOnce.request(request));
  const claimTicket = () => commit.run(() => claimOnce.ticket(ticket));
  expect(await claimRequest()).toBe('claimed');
  expect(await claimTicket()).toBe('claimed');
  clock.advance(KEPT_MS);
  expect(await claimRequest()).toBe('replayed');

  const forgotten = forgetExpiredClaims({ claims, floor, commit });
  const replays = [claimRequest(), claimTicket()];
  clock.advance(1);
  await forgotten;
  expect(await Promise.all(replays)).toEqual(['below_time_floor', 'below_time_floor']);
  expect(db.prepare('SELECT count(*) FROM claims').pluck().get()).toBe(0);
});
