/** The webhook's own refreshes, as whoever fetches a credential sees them (PROTOCOL.md sections 5.4 and 7). */
import Database from 'better-sqlite3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { formatTime } from '@svault/shared';
import { credentialEnvelopeSchema } from '@svault/shared/schemas';
import { type RefreshBench, refreshBench } from '../support/refresh-bench.ts';
import { command } from '../support/run-webhook.ts';

let bench: RefreshBench;
beforeAll(async () => {
  bench = await refreshBench();
});
afterAll(() => bench.close());
beforeEach(() => bench.provider.misbehave(undefined));

const callsWith = (refreshToken: string): number =>
  bench.provider.calls.filter(({ form }) => form.get('refresh_token') === refreshToken).length;
const callsSince = (before: number): number => bench.provider.calls.length - before;

describe('an expired token', () => {
  it('is refreshed before it is delivered, as the next version, with the same restrictions', async () => {
    const { webhook, provider } = bench;
    const former = await bench.store('first', {
      body: { allowedHosts: ['api.test'], shareRefreshToken: true },
    });
    const before = await bench.metadata('first');
    webhook.clock.advance(1_000);
    const { status, json } = await webhook.credential('first');
    expect(status).toBe(200);
    const { token } = credentialEnvelopeSchema.parse(json);
    expect(token.accessToken).not.toBe(former.accessToken);
    expect(provider.gave(token.accessToken)).toBe(true);
    expect(provider.isGood(token.refreshToken ?? '')).toBe(true);
    const expiryTime = formatTime(webhook.clock.now() + 3_600_000);
    expect(token).toMatchObject({ expiryTime, createdAt: before.createdAt });
    expect(await bench.metadata('first')).toEqual({
      ...before,
      version: 2,
      expiryTime,
      updatedAt: formatTime(webhook.clock.now()),
    });
    expect(await bench.fetch('first')).toBe(token.accessToken);
  });

  it('is refreshed 30 s before its expiry, and not 31 s before', async () => {
    const calls = bench.provider.calls.length;
    const kept = await bench.store('31 s', { expiresIn: 31 });
    expect(await bench.fetch('31 s')).toBe(kept.accessToken);
    const over = await bench.store('30 s', { expiresIn: 30 });
    expect(await bench.fetch('30 s')).not.toBe(over.accessToken);
    expect(callsSince(calls)).toBe(1);
  });

  it('is refreshed by one call for 200 concurrent requests', async () => {
    const { provider } = bench;
    await bench.store('wanted');
    const before = provider.calls.length;
    const gate = provider.hold();
    const fetches = Array.from({ length: 200 }, () => bench.fetch('wanted'));
    await provider.arrived(before + 1);
    gate.release();
    const given = new Set(await Promise.all(fetches));
    expect([given.size, callsSince(before)]).toEqual([1, 1]);
    expect(provider.gave([...given][0] ?? '')).toBe(true);
    expect((await bench.metadata('wanted')).version).toBe(2);
  });

  it('has no expiry afterwards if the provider returns none, and keeps a refresh token that is not rotated', async () => {
    const { provider } = bench;
    provider.expiresIn = undefined;
    provider.rotates = false;
    try {
      const { refreshToken } = await bench.store('for ever', { body: { shareRefreshToken: true } });
      const { json } = await bench.webhook.credential('for ever');
      expect(json.token).not.toHaveProperty('expiryTime');
      expect(json.token.refreshToken).toBe(refreshToken);
      expect(await bench.metadata('for ever')).not.toHaveProperty('expiryTime');
    } finally {
      provider.expiresIn = 3600;
      provider.rotates = true;
    }
  });

  it('is delivered once if the provider’s tokens live shorter than the margin', async () => {
    bench.provider.expiresIn = 10;
    try {
      await bench.store('short');
      const [one, two] = [await bench.fetch('short'), await bench.fetch('short')];
      expect([bench.provider.gave(one), bench.provider.gave(two), one === two]).toEqual([true, true, false]);
    } finally {
      bench.provider.expiresIn = 3600;
    }
  });

  it('consumes a ticket once, whether or not it is delivered', async () => {
    await bench.store('ticketed');
    const path = `/v1/credential?ticket=${bench.webhook.credentialTicket('ticketed')}`;
    const answers = await Promise.all(Array.from({ length: 10 }, () => bench.webhook.send(path)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ json }) => json.code === 'TICKET_INVALID')).toHaveLength(9);
    await bench.store('ticketed');
    bench.provider.misbehave({ status: 500 });
    const held = `/v1/credential?ticket=${bench.webhook.credentialTicket('ticketed')}`;
    const before = bench.provider.calls.length;
    const gate = bench.provider.hold();
    const waiting = bench.webhook.send(held);
    await bench.provider.arrived(before + 1);
    // Before the provider has answered: what is slow must not leave it usable.
    expect((await bench.webhook.send(held)).json.code).toBe('TICKET_INVALID');
    gate.release();
    expect((await waiting).json.code).toBe('PROVIDER_ERROR');
    const refused = `/v1/credential?ticket=${bench.webhook.credentialTicket('ticketed')}`;
    expect((await bench.webhook.send(refused)).json.code).toBe('PROVIDER_ERROR');
    expect((await bench.webhook.send(refused)).json.code).toBe('TICKET_INVALID');
  });

  it('is logged with its outcome, and no version of it can be restored', async () => {
    await bench.store('logged');
    await bench.fetch('logged');
    const [delivered, refreshed] = await bench.entries('logged');
    expect(refreshed).toMatchObject({
      eventType: 'CREDENTIAL_REFRESHED',
      outcome: 'success',
      detail: { cause: 'use', from: 1, version: 2, rotated: true },
    });
    expect(delivered).toMatchObject({ eventType: 'CREDENTIAL_DELIVERED', detail: { version: 2 } });
    expect(await command(bench.webhook, 'restore', 'logged')).toMatchObject({ code: 1 });
  });
});

describe('a refresh token that the provider refuses', () => {
  it('is reported, and is not used again until the credential is stored again', async () => {
    const { webhook, provider } = bench;
    const former = await bench.store('spent');
    // Somebody else used it.
    await bench.store('thief', { body: former });
    expect(provider.gave(await bench.fetch('thief'))).toBe(true);

    const refused = await webhook.credential('spent');
    expect([refused.status, refused.json.code]).toEqual([422, 'REAUTH_NEEDED']);
    expect(callsWith(former.refreshToken)).toBe(2);
    expect((await bench.metadata('spent')).reauthNeeded).toBe(true);
    const { items } = (await webhook.storage({ op: 'tokens.list', limit: 500 })).json;
    const shown = items.find((item: { serviceName: string }) => item.serviceName === 'spent');
    expect(shown.reauthNeeded).toBe(true);
    const [, entry] = await bench.entries('spent');
    expect(entry).toMatchObject({ eventType: 'CREDENTIAL_REFRESHED', outcome: 'denied' });
    expect(entry.detail.code).toBe('REAUTH_NEEDED');

    const tries = async (): Promise<string[]> => [
      await bench.fetch('spent'),
      (await bench.notify('spent')).json.code,
      (await bench.refresh({ phase: 'get', serviceName: 'spent' })).json.code,
    ];
    expect(await tries()).toEqual(Array(3).fill('REAUTH_NEEDED'));
    webhook.clock.advance(3_600_000);
    await webhook.restart();
    expect(await tries()).toEqual(Array(3).fill('REAUTH_NEEDED'));
    expect(callsWith(former.refreshToken)).toBe(2);

    await bench.store('spent');
    expect(await bench.metadata('spent')).not.toHaveProperty('reauthNeeded');
    expect(provider.gave(await bench.fetch('spent'))).toBe(true);
  });

  it('leaves the access token usable until it expires', async () => {
    const { accessToken } = await bench.store('not yet', { expiresIn: 300 });
    bench.provider.misbehave({ status: 400, body: '{"error":"invalid_grant"}' });
    expect((await bench.notify('not yet')).json).toEqual({
      outcome: 'failed',
      providerReason: 'status 400, invalid_grant',
    });
    expect((await bench.metadata('not yet')).reauthNeeded).toBe(true);
    expect(await bench.fetch('not yet')).toBe(accessToken);
  });

  it('is known as spent after a restore of its record too', async () => {
    const { provider, webhook } = bench;
    await bench.store('back again');
    provider.misbehave({ status: 400, body: '{"error":"invalid_grant"}' });
    expect(await bench.fetch('back again')).toBe('REAUTH_NEEDED');
    await webhook.storage({ op: 'tokens.delete', serviceName: 'back again' });
    expect(await command(webhook, 'restore', 'back again')).toMatchObject({ code: 0 });
    expect(await bench.metadata('back again')).toMatchObject({ version: 2, reauthNeeded: true });
    const calls = provider.calls.length;
    expect(await bench.fetch('back again')).toBe('REAUTH_NEEDED');
    expect(callsSince(calls)).toBe(0);
    expect(await command(webhook, 'purge', 'back again')).toMatchObject({ code: 0 });
    const db = new Database(`${webhook.dataDir}/webhook.db`, { readonly: true });
    const marks = `SELECT version FROM refresh_marks WHERE service_name = 'back again'`;
    expect(db.prepare(marks).pluck().all()).toEqual([2]);
    db.close();
  });
});

describe('a record that changes while the provider is called', () => {
  const during = async (change: () => Promise<unknown>): Promise<string> => {
    const { provider } = bench;
    const before = provider.calls.length;
    const gate = provider.hold();
    const fetched = bench.fetch('moving');
    await provider.arrived(before + 1);
    await change();
    gate.release();
    return fetched;
  };

  it('is delivered in its new state, with the same restrictions', async () => {
    await bench.store('moving');
    const token: { accessToken?: string } = {};
    const fetched = await during(async () =>
      Object.assign(token, await bench.store('moving', { expiresIn: 600 })),
    );
    expect(fetched).toBe(token.accessToken);
    expect((await bench.metadata('moving')).version).toBe(2);
  });

  it('is not delivered if it was restricted further, or deleted', async () => {
    await bench.store('moving');
    const closed = { body: { delivery: 'proxy-only', allowedHosts: ['api.test'] } };
    expect(await during(() => bench.store('moving', closed))).toBe('VERSION_CONFLICT');
    await bench.store('moving');
    const serviceName = 'moving';
    expect(await during(() => bench.webhook.storage({ op: 'tokens.delete', serviceName }))).toBe(
      'VERSION_CONFLICT',
    );
  });

  it('is not delivered if it is empty now', async () => {
    await bench.store('moving');
    expect(await during(() => bench.store('moving', { body: { accessToken: '' }, expiresIn: 600 }))).toBe(
      'EMPTY_TOKEN',
    );
  });

  it('keeps the rotated pair in the replaced version, so that a restore brings back a valid one', async () => {
    const { provider, webhook } = bench;
    await bench.store('moving', { body: { shareRefreshToken: true } });
    const serviceName = 'moving';
    await during(() => webhook.storage({ op: 'tokens.delete', serviceName }));
    expect(await command(webhook, 'restore', 'moving')).toMatchObject({ code: 0 });
    const { json } = await webhook.credential('moving');
    expect(provider.isGood(json.token.refreshToken)).toBe(true);
  });

  it('is not brought back if it was purged in the meantime', async () => {
    const { webhook } = bench;
    await bench.store('moving');
    const serviceName = 'moving';
    await during(async () => {
      await webhook.storage({ op: 'tokens.delete', serviceName });
      await command(webhook, 'purge', 'moving');
    });
    expect(await command(webhook, 'restore', 'moving')).toMatchObject({ code: 1 });
    const entry = (await bench.entries('moving')).find(
      ({ eventType }) => eventType === 'CREDENTIAL_REFRESHED',
    );
    expect(entry).toMatchObject({ outcome: 'error', detail: { from: expect.any(Number) } });
  });
});

it('a rotated pair is not lost if the disk is full at that moment: it is stored later, without another call', async () => {
  const { provider, webhook } = bench;
  await bench.store('unwritable');
  const before = provider.calls.length;
  const gate = provider.hold();
  const fetched = bench.fetch('unwritable');
  await provider.arrived(before + 1);
  const db = new Database(`${webhook.dataDir}/webhook.db`);
  db.exec(`CREATE TRIGGER full BEFORE UPDATE OF body ON records BEGIN SELECT RAISE(ABORT, 'no room'); END`);
  gate.release();
  expect(await fetched).toBe('INTERNAL');
  expect(await bench.fetch('unwritable')).toBe('INTERNAL');
  expect((await bench.metadata('unwritable')).version).toBe(1);
  db.exec('DROP TRIGGER full');
  db.close();
  expect(provider.gave(await bench.fetch('unwritable'))).toBe(true);
  expect((await bench.metadata('unwritable')).version).toBe(2);
  expect(callsSince(before)).toBe(1);
});

it('a rotated pair is stored although the caller disconnected and the webhook stops: the stop waits for the provider', async () => {
  const { provider, webhook } = bench;
  await bench.store('stopping');
  const before = provider.calls.length;
  const gate = provider.hold();
  const gone = new AbortController();
  const path = `/v1/credential?ticket=${webhook.credentialTicket('stopping')}`;
  const cutOff = webhook.send(path, { signal: gone.signal }).catch(() => 'cut off');
  await provider.arrived(before + 1);
  gone.abort();
  expect(await cutOff).toBe('cut off');
  const restarted = webhook.restart();
  const listens = (): Promise<boolean> =>
    webhook.send('/healthz').then(
      () => true,
      () => false,
    );
  while (await listens());
  // Time enough to stop altogether, if it did not wait.
  for (let look = 0; look < 100; look += 1) await listens();
  gate.release();
  await restarted;
  expect((await bench.metadata('stopping')).version).toBe(2);
  expect(provider.gave(await bench.fetch('stopping'))).toBe(true);
  expect(callsSince(before)).toBe(1);
});
