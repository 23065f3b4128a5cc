import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inDatabase } from '../support/database-files.ts';
import { type Call, clientOf } from '../support/management-service.ts';
import { uniqueName } from '../support/unique-name.ts';
import { type PairAgent, agentOn, grant, storeOn } from '../support/pair-agents.ts';

/*
 * R21: the service's database lies on a disk of a few megabytes, which is filled up under it: no ticket without its
 * audit row, no change without its event, and it heals by itself. Where this process may not mount such a disk,
 * disk-full.test.ts still has SQLite's own limit, which gives the same error.
 */

const DISK_BYTES = 8 * 1024 * 1024;

/** A disk whose room can be taken away and given back. */
interface SmallDisk {
  readonly path: string;
  /** Leaves so many bytes. */
  fill(leftBytes: number): void;
  free(): void;
  remove(): void;
}

function mountSmallDisk(): SmallDisk | undefined {
  const { path, remove } = tempDir();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'svault-small-disk', path], {
      stdio: 'pipe',
    });
  } catch {
    remove();
    return undefined;
  }
  const filler = join(path, 'filler');
  return {
    path,
    fill: (leftBytes) => {
      try {
        writeFileSync(filler, Buffer.alloc(DISK_BYTES));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
      truncateSync(filler, Math.max(0, statSync(filler).size - leftBytes));
    },
    free: () => rmSync(filler, { force: true }),
    remove: () => {
      execFileSync('umount', ['-l', path]);
      remove();
    },
  };
}

const disk = mountSmallDisk();

describe.skipIf(disk === undefined)('a full disk under the control plane', () => {
  const { path = '', fill = () => undefined, free = () => undefined, remove = () => undefined } = disk ?? {};
  const database = join(path, 'data', 'control-plane.db');
  let pair: TestPair;
  let admin: Call;
  let agent: PairAgent;
  let tickets = 0;

  beforeAll(async () => {
    mkdirSync(join(path, 'data'), { mode: 0o700 });
    const env = { SV_DATABASE_URL: `sqlite:${database}`, ...RAISED_LIMITS };
    pair = await startPair({ env, logLevel: 'fatal' });
    admin = clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` });
    await storeOn(pair, 'github', { tokenType: 'PlainText', value: 'v' });
    agent = await agentOn(pair, 'github');
  });
  afterAll(async () => {
    free();
    await pair.close();
    remove();
  });

  /** Asks, eight at once, until nothing is given any more. */
  async function askUntilRefused(): Promise<void> {
    for (;;) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => agent.ask('github')));
      tickets += answers.filter(({ status }) => status === 307).length;
      const refused = answers.filter(({ status }) => status !== 307);
      for (const { status, json, headers } of refused) {
        expect([status, json.code, headers.get('location')]).toEqual([503, 'AUDIT_UNAVAILABLE', null]);
        expect(Number(headers.get('retry-after'))).toBe(json.retryAfter);
      }
      if (refused.length === answers.length) return;
    }
  }

  /** Rows of tickets, as another process reads them; there must be room for its index of the log. */
  const rows = (): number | undefined =>
    inDatabase(database, (db) =>
      db
        .prepare<[string], number>(
          "SELECT count(*) FROM audit_events WHERE agent_id = ? AND event_type = 'AGENT_CREDENTIAL_ACCESS' AND outcome = 'success'",
        )
        .pluck()
        .get(agent.id),
    );

  const heals = async (): Promise<void> => {
    free();
    expect((await agent.fetch('github')).json.token.accessToken).toBe('v');
    tickets++;
    expect(rows()).toBe(tickets);
    expect((await admin('GET', '/api/audit/verify')).json).toMatchObject({ intact: true });
    expect((await admin('POST', '/api/agents', { body: { name: uniqueName('room again') } })).status).toBe(
      201,
    );
  };

  test.each([0, 100, 4_096, 10_000, 40_000, 100_000, 300_000])('with %i bytes left', async (leftBytes) => {
    fill(leftBytes);
    await askUntilRefused();
    await heals();
  });

  test('reads succeed, changes fail, and no change is left half done', async () => {
    await grant(pair, agent.id, { serviceName: 'hourly', expiresInSeconds: 3_600 });
    const before = (await admin('GET', '/api/agents?limit=100')).json.items.length as number;
    pair.clock.advance(3_600_000);
    fill(0);
    await askUntilRefused();
    expect((await agent.list()).json.grants).toHaveLength(1);
    expect((await admin('GET', '/api/agents?limit=100')).json.items).toHaveLength(before);
    for (const read of [
      '/api/me',
      '/api/vault',
      '/api/webhook',
      '/api/tokens',
      '/api/audit',
      '/api/audit/verify',
    ])
      expect([read, (await admin('GET', read)).status]).toEqual([read, 200]);
    const ready = async () => {
      // A checkpoint makes room in between.
      fill(0);
      // Past the pause between two trial writes.
      pair.clock.advance(2_000);
      return (await admin('GET', '/readyz')).json;
    };
    await expect
      .poll(ready)
      .toMatchObject({ code: 'UNAVAILABLE', error: expect.stringMatching(/disk.*full/) });
    await askUntilRefused();
    expect((await agent.ask('hourly')).json.code).toBe('AUDIT_UNAVAILABLE');
    expect((await agent.ask('unheard-of')).json.code).toBe('AUDIT_UNAVAILABLE');
    for (const [method, change] of [
      ['POST', '/api/agents'],
      ['POST', `/api/agents/${agent.id}/suspend`],
      ['POST', '/api/vault/lock'],
    ] as const) {
      const body =
        change === '/api/agents' ? { body: { name: 'no room', description: 'x'.repeat(1_000) } } : {};
      const { status, json } = await admin(method, change, body);
      expect([change, status, json.code]).toEqual([change, 503, 'UNAVAILABLE']);
    }
    free();
    expect((await admin('GET', '/api/agents?limit=100')).json.items).toHaveLength(before);
    expect((await admin('GET', `/api/agents/${agent.id}`)).json.status).toBe('active');
    expect((await agent.ask('hourly')).json.code).toBe('GRANT_EXPIRED');
    await heals();
  });

  test('nothing is lost in a restart on a full disk', async () => {
    fill(0);
    await askUntilRefused();
    await pair.stop('control-plane');
    // Whether there is room enough to start is the disk's affair; what counts is what is there afterwards.
    await pair.start('control-plane').catch(() => undefined);
    free();
    await pair.stop('control-plane');
    await pair.start('control-plane');
    admin = clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` });
    await heals();
  });
});
