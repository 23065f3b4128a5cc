import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aeadReady } from '@svault/server-kit/aead';
import { createGroupCommit } from '@svault/server-kit/group-commit';
import { createMasterKeys } from '@svault/server-kit/master-keys';
import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import { ManualClock } from '@svault/shared';
import { forgetPastClaims } from '../replay/sweep.ts';
import { createTimeFloor } from '../replay/time-floor.ts';
import { createBindingStore } from '../sqlite/binding-store.ts';
import { createClaimStore } from '../sqlite/claim-store.ts';
import { openVaultFile } from '../sqlite/vault-file.ts';
import { createAdmissionDesk } from './admission.ts';

const KEPT_MS = 90_000;

let dir: string;
let db: SqliteDatabase;
beforeAll(aeadReady);
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'svault-admission-'));
  db = openVaultFile(join(dir, 'webhook.db'), dir);
});
afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true });
});

describe('a replay that was verified in the last moment of its time', () => {
  it('is refused although the sweep forgets its claim before it is admitted', async () => {
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
    const desk = createAdmissionDesk({ bindings, claims, floor, commit, audit });

    const untilMs = clock.now() + KEPT_MS;
    const times = { confirmedMs: clock.now(), untilMs };
    const request = { keyId: 'k1', keyState: 'current', nonce: 'n', ...times } as const;
    const ticket = { keyId: 'k1', jti: 'j', untilMs };
    expect(await desk.admitRequest(request)).toBe('admitted');
    expect(await desk.admitTicket(ticket)).toBe('admitted');
    clock.advance(KEPT_MS);
    expect(await desk.admitRequest(request)).toBe('replayed');

    const swept = forgetPastClaims({ claims, floor, commit });
    const replays = [desk.admitRequest(request), desk.admitTicket(ticket)];
    clock.advance(1);
    await swept;
    expect(await Promise.all(replays)).toEqual(['below_time_floor', 'below_time_floor']);
    expect(db.prepare('SELECT count(*) FROM claims').pluck().get()).toBe(0);
  });
});
