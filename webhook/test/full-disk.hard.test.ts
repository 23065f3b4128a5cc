/**
 * R21: a disk that is really full, at every place where the file system can refuse. Two ways to get there: a small
 * tmpfs (where this may mount one), and the kernel's bound on a file's size, which anybody may set for himself.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, test } from 'vitest';
import { ManualClock, randomToken } from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import { startTokenEndpoint } from '@svault/test-kit/token-endpoint';
import { type Answer, type BoundWebhook, boundWebhook } from './support/bound-webhook.ts';
import { runWebhook } from './support/run-webhook.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A place whose room can be taken away and given back while a webhook lives in it. */
interface TightPlace {
  readonly dir: string;
  /** Leaves so many bytes; what is stored already stays. */
  shrink(leftBytes: number): void;
  widen(): void;
}

const KIB = 1024;
const DISK_BYTES = 48 * KIB * KIB;

function smallDisk(): TightPlace {
  const { path, remove } = tempDir();
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'svault-full-disk', path], {
    stdio: 'pipe',
  });
  cleanUps.push(() => {
    execFileSync('umount', ['-l', path]);
    remove();
  });
  const filler = join(path, 'filler');
  const dir = join(path, 'data');
  mkdirSync(dir, { mode: 0o700 });
  return {
    dir,
    shrink: (leftBytes) => {
      try {
        writeFileSync(filler, Buffer.alloc(DISK_BYTES));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
      truncateSync(filler, Math.max(0, statSync(filler).size - leftBytes));
    },
    widen: () => rmSync(filler, { force: true }),
  };
}

function boundFiles(): TightPlace {
  const { path, remove } = tempDir();
  const limit = (bytes: string): void =>
    void execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:unlimited`], {
      stdio: 'pipe',
    });
  cleanUps.push(() => {
    limit('unlimited');
    remove();
  });
  const dir = join(path, 'data');
  return {
    dir,
    shrink: (leftBytes) => {
      const largest = Math.max(...readdirSync(dir).map((name) => statSync(join(dir, name)).size));
      limit(String(largest + leftBytes));
    },
    widen: () => limit('unlimited'),
  };
}

function works(make: () => TightPlace): boolean {
  try {
    const place = make();
    mkdirSync(place.dir, { recursive: true });
    return true;
  } catch {
    return false;
  } finally {
    for (const cleanUp of cleanUps.splice(0).reverse()) cleanUp();
  }
}

const PLACES = [
  ['a small disk', smallDisk, works(smallDisk)],
  ['files that may not grow', boundFiles, works(boundFiles)],
] as const;
for (const [what, , possible] of PLACES)
  if (!possible) process.stderr.write(`\nNOT TESTED: ${what}, which this user may not make here\n\n`);
const SECRET = 'the secret of the record';

for (const [what, make, possible] of PLACES) describe.skipIf(!possible)(`on ${what}`, () => testsOn(make));

test.skipIf(!PLACES[0][2])(
  'on a small disk, /readyz is 503 with the reason while it is full, and 200 once there is room',
  async () => {
    const disk = smallDisk();
    const webhook = await boundWebhook({ env: { SV_WEBHOOK_DATA_DIR: disk.dir } });
    cleanUps.push(() => webhook.remove());
    const ready = async (): Promise<unknown[]> => {
      // Past the pause between two trial writes.
      webhook.clock.advance(2_000);
      const { status, json } = await webhook.send('/readyz');
      return [status, json.error ?? json.status];
    };
    expect(await ready()).toEqual([200, 'ok']);
    // A checkpoint makes room in between.
    const whileFull = (): Promise<unknown> => {
      disk.shrink(0);
      return ready();
    };
    await expect
      .poll(whileFull)
      .toEqual([503, 'the disk of the database is full; try again once there is room']);
    disk.widen();
    expect(await ready()).toEqual([200, 'ok']);
    await webhook.stop();
    expect(readdirSync(disk.dir).filter((name) => name.includes('probe'))).toEqual([]);
  },
);

function testsOn(make: () => TightPlace): void {
  async function webhookIn(place: TightPlace): Promise<BoundWebhook> {
    const webhook = await boundWebhook({
      clock: new ManualClock(Date.now()),
      env: { SV_WEBHOOK_DATA_DIR: place.dir, SV_EGRESS_ALLOW: '127.0.0.1/32' },
    });
    cleanUps.push(async () => {
      place.widen();
      await webhook.remove();
    });
    expect((await webhook.store('doc', { tokenType: 'PlainText', value: SECRET })).status).toBe(200);
    return webhook;
  }
  const refusedAsFull = ({ status, headers, json, text }: Answer): void => {
    expect([status, json?.code, headers.get('retry-after')]).toEqual([503, 'UNAVAILABLE', '5']);
    expect(text).not.toContain(SECRET);
  };
  const rows = (webhook: BoundWebhook, sql: string): number => {
    const db = new Database(join(webhook.env['SV_WEBHOOK_DATA_DIR'] ?? '', 'webhook.db'), { readonly: true });
    try {
      return db.prepare<[], number>(sql).pluck().get() ?? 0;
    } finally {
      db.close();
    }
  };
  const DELIVERED = `SELECT count(*) FROM audit_log WHERE event_type = 'CREDENTIAL_DELIVERED' AND outcome = 'success'`;

  test('store, credential, audit and signed requests answer 503, and work again once there is room', async () => {
    const place = make();
    const webhook = await webhookIn(place);
    const big = { tokenType: 'PlainText', value: 'x'.repeat(60 * KIB) };
    const event = (id: string) => ({
      id,
      eventType: 'X',
      timestamp: '2026-01-01T00:00:00Z',
      outcome: 'success',
    });
    let delivered = 0;
    const refusedKinds = new Set<string>();

    for (let leftKib = 0; leftKib <= 96; leftKib += 6) {
      place.shrink(leftKib * KIB);
      // Until nothing more fits: each of these is refused as a whole or done as a whole.
      const tickets: string[] = [];
      let full = 0;
      for (let tries = 0; full < 5 && tries < 3_000; tries += 1) {
        const ticket = webhook.credentialTicket('doc');
        const answer = await webhook.send(`/v1/credential?ticket=${ticket}`);
        if (answer.status === 200) {
          expect(answer.json.token.accessToken).toBe(SECRET);
          delivered += 1;
          full = 0;
          continue;
        }
        refusedAsFull(answer);
        tickets.push(ticket);
        full += 1;
      }
      expect(full).toBe(5);
      // A checkpoint may make room at any moment, since it empties the WAL; so each is done or refused, and in the end
      // each kind was seen to be refused.
      for (const [kind, ask] of Object.entries({
        store: () => webhook.store('large', big),
        signed: () => webhook.storage({ op: 'tokens.get', serviceName: 'doc' }),
        audit: () => webhook.storage({ op: 'audit.append', events: [event(randomToken())] }),
      })) {
        const answer = await ask();
        if (answer.status === 200) continue;
        refusedAsFull(answer);
        refusedKinds.add(kind);
      }
      expect((await webhook.send('/healthz')).status).toBe(200);

      place.widen();
      // The refused tickets were not used up; each is good for one delivery.
      for (const ticket of tickets) {
        expect((await webhook.send(`/v1/credential?ticket=${ticket}`)).status).toBe(200);
        expect((await webhook.send(`/v1/credential?ticket=${ticket}`)).status).toBe(401);
        delivered += 1;
      }
      expect((await webhook.store('large', big)).status).toBe(200);
      expect((await webhook.storage({ op: 'audit.append', events: [event(randomToken())] })).status).toBe(
        200,
      );
      // No delivery without its entry, and no entry without its delivery.
      expect(rows(webhook, DELIVERED)).toBe(delivered);
    }
    expect([...refusedKinds].toSorted()).toEqual(['audit', 'signed', 'store']);
    expect(await runWebhook(webhook.env, 'audit', 'verify')).toMatchObject({ code: 0 });
  });

  test('stores at the limit are complete or absent', async () => {
    const place = make();
    const webhook = await webhookIn(place);
    let stored = 0;
    for (let round = 0; round < 40; round += 1) {
      place.shrink(((round * 7) % 64) * KIB);
      const value = `${round} ${'y'.repeat((round * 3 * KIB) % (50 * KIB))}`;
      const { status } = await webhook.store('edge', { tokenType: 'PlainText', value });
      expect([200, 503]).toContain(status);
      place.widen();
      if (status === 200) {
        stored += 1;
        expect((await webhook.credential('edge')).json.token.accessToken).toBe(value);
      }
      const { json } = await webhook.storage({ op: 'tokens.get', serviceName: 'edge' });
      expect(json.version).toBe(stored === 0 ? undefined : stored);
    }
    expect([stored > 0, stored < 40]).toEqual([true, true]);
    expect(
      rows(
        webhook,
        `SELECT count(*) FROM audit_log WHERE event_type = 'CREDENTIAL_STORED' AND service_name = 'edge'`,
      ),
    ).toBe(stored);
    expect(await runWebhook(webhook.env, 'audit', 'verify')).toMatchObject({ code: 0 });
  });

  test('a pair that a provider has rotated is kept until there is room, and costs no second call', async () => {
    const place = make();
    const webhook = await webhookIn(place);
    const provider = await startTokenEndpoint();
    cleanUps.push(() => provider.close());
    let refused = 0;
    for (let round = 1; round <= 10; round += 1) {
      const name = `expired ${round}`;
      const accessToken = `${round}${'x'.repeat(40 * KIB)}`;
      provider.misbehave({ status: 200, body: JSON.stringify({ access_token: accessToken }) });
      await webhook.store(name, {
        tokenType: 'JWT',
        accessToken: 'over',
        refreshToken: 'rt',
        expiryTime: '2026-01-01T00:00:00Z',
        provider: { tokenUrl: provider.url, clientId: 'client' },
      });
      const gate = provider.hold();
      const fetched = webhook.credential(name);
      await provider.arrived(round);
      place.shrink(0);
      gate.release();
      const answer = await fetched;
      if (answer.status !== 200) {
        refusedAsFull(answer);
        refused += 1;
      }
      place.widen();
      expect((await webhook.credential(name)).json.token.accessToken).toBe(accessToken);
      expect(provider.calls).toHaveLength(round);
    }
    expect(refused).toBeGreaterThan(0);
    expect(await runWebhook(webhook.env, 'audit', 'verify')).toMatchObject({ code: 0 });
  });

  test('it stops, and starts again once there is room, with everything that it confirmed', async () => {
    const place = make();
    const webhook = await webhookIn(place);
    place.shrink(0);
    refusedAsFull(await webhook.store('large', { tokenType: 'PlainText', value: 'x'.repeat(60 * KIB) }));
    place.widen();
    await webhook.restart();
    expect((await webhook.credential('doc')).json.token.accessToken).toBe(SECRET);
    place.shrink(0);
    for (let full = 0; full < 20;) full += (await webhook.credential('doc')).status === 503 ? 1 : 0;
    await webhook.stop();
    place.widen();
    await webhook.restart();
    expect((await webhook.credential('doc')).json.token.accessToken).toBe(SECRET);
  });
}
