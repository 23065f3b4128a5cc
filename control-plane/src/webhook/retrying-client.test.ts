import { type Id, ManualClock } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import { createCallBudget } from './call-budget.ts';
import { type WebhookClient, createWebhookClient } from './retrying-client.ts';
import { type OutageTracker, createOutageTracker } from './outages.ts';
import type { WebhookCall } from './client.ts';
import { WebhookCallFailed } from './call-failed.ts';
import { createSignatureAlarm } from './signature-alarm.ts';
import type { WebhookLink } from '../core/webhook-link.ts';

const link: WebhookLink = {
  vaultId: 'vlt_1' as Id<'vlt'>,
  webhookId: 'whk_1',
  url: 'https://vault.example.org',
  key: { id: 'k1', wrapped: 'wrapped' },
  pendingKey: undefined,
  capabilities: [],
  boundAt: '2026-11-20T12:00:00.000Z',
  boundBy: 'usr_1' as Id<'usr'>,
  lastSeenAt: undefined,
  latencyMs: undefined,
};

const ANSWER = { body: { status: 'ok' }, latencyMs: 3, bytes: 15 };
const late = () => new WebhookCallFailed('unreachable', 'timeout', { isLate: true });
const unreachable = () => new WebhookCallFailed('unreachable', 'no connection');
const refused = () => new WebhookCallFailed('refused', 'no', { status: 401, code: 'SIGNATURE_INVALID' });

let clock: ManualClock;
let status: OutageTracker;
let calls: WebhookCall[];
let outcomes: (() => WebhookCallFailed)[];
let pauses: number[];
let alarms: object[];
let webhook: WebhookClient;

beforeEach(() => {
  clock = new ManualClock();
  status = createOutageTracker(clock);
  calls = [];
  outcomes = [];
  pauses = [];
  alarms = [];
  webhook = createWebhookClient({
    client: {
      call: async (call) => {
        calls.push(call);
        const failure = outcomes.shift();
        if (failure !== undefined) throw failure();
        return ANSWER;
      },
    },
    keys: {
      open: (_vaultId, { id }) => ({ id, secret: new Uint8Array(32) }),
      wrap: (_vaultId, { id }) => ({ id, wrapped: '' }),
    },
    status,
    budget: createCallBudget({ clock }),
    signatureAlarm: createSignatureAlarm({
      logger: { error: (about: object) => void alarms.push(about) },
      clock,
    }),
    wait: async (ms) => void pauses.push(ms),
  });
});

const storage = { path: '/v1/storage', body: { op: 'tokens.list' } } as const;
const retried = { ...storage, retry: true } as const;

describe('retries (PROTOCOL.md TRN-26, TRN-27)', () => {
  it('makes a call that may be retried twice more, after 1 s and 3 s', async () => {
    outcomes = [unreachable, unreachable];
    expect(await webhook.call(link, retried)).toBe(ANSWER);
    expect(pauses).toEqual([1_000, 3_000]);
    expect(calls).toHaveLength(3);
  });

  it('gives up after the third call', async () => {
    outcomes = [unreachable, unreachable, unreachable];
    await expect(webhook.call(link, retried)).rejects.toMatchObject({ failure: 'unreachable' });
    expect(calls).toHaveLength(3);
  });

  it('does not retry a call that the webhook refused', async () => {
    outcomes = [refused];
    await expect(webhook.call(link, retried)).rejects.toMatchObject({ failure: 'refused' });
    expect(calls).toHaveLength(1);
  });

  it('does not retry where the caller did not ask for it, nor an exchange', async () => {
    const requests = [
      storage,
      { path: '/v1/refresh', body: {} },
      { path: '/v1/exchange', body: {} },
    ] as const;
    for (const request of requests) {
      outcomes = [unreachable];
      await expect(webhook.call(link, request)).rejects.toMatchObject({ failure: 'unreachable' });
    }
    expect(calls).toHaveLength(3);
  });
});

describe('the offline status of a webhook', () => {
  const once = (): Promise<unknown> => webhook.call(link, storage).catch(() => undefined);
  const isOffline = (): boolean => status.offlineForSeconds(link.vaultId) > 0;

  it('begins with a failed call and ends only with an answered one', async () => {
    outcomes = [unreachable];
    await once();
    expect(status.offlineForSeconds(link.vaultId)).toBe(2);
    clock.advance(3_600_000);
    expect(status.offlineForSeconds(link.vaultId)).toBe(2);
    await once();
    expect(status.offlineForSeconds(link.vaultId)).toBe(0);
  });

  it('ends with a refusal, which shows that the webhook is online', async () => {
    outcomes = [unreachable, refused];
    await once();
    await once();
    expect(isOffline()).toBe(false);
  });

  it('begins with the second call in a row that times out', async () => {
    outcomes = [late];
    await once();
    expect([isOffline(), status.takeSuspects(1), status.takeSuspects(1)]).toEqual([
      false,
      [link.vaultId],
      [],
    ]);
    outcomes = [late];
    await once();
    expect(isOffline()).toBe(true);
  });

  it('does not begin with calls that time out together, nor with two that have an answer between them', async () => {
    const both = [status.callStarted(link.vaultId), status.callStarted(link.vaultId)];
    clock.advance(10_000);
    for (const each of both) each.failed('late');
    expect(isOffline()).toBe(false);
    outcomes = [];
    await once();
    outcomes = [late];
    await once();
    expect(isOffline()).toBe(false);
  });

  it('is not changed by a call that started before another one was answered', () => {
    const hung = status.callStarted(link.vaultId);
    clock.advance(1_000);
    status.callStarted(link.vaultId).answered();
    clock.advance(9_000);
    hung.failed('broken');
    expect(isOffline()).toBe(false);
    status.callStarted(link.vaultId).failed('broken');
    expect(isOffline()).toBe(true);
  });

  it('does not begin with a refusal or garbage', async () => {
    for (const outcome of [refused, () => new WebhookCallFailed('garbage', 'what?')]) {
      outcomes = [outcome];
      await once();
      expect(isOffline()).toBe(false);
    }
  });

  it("does not extend to another account's webhook that took the same id", async () => {
    outcomes = [unreachable];
    await once();
    expect(status.offlineForSeconds('vlt_2' as Id<'vlt'>)).toBe(0);
  });

  it('is published once for each change, and a change of another process does not undo a newer one of this process', () => {
    const { vaultId } = link;
    status.callStarted(vaultId).failed('broken');
    status.callStarted(vaultId).failed('broken');
    status.apply({ vaultId, isOffline: false });
    expect([isOffline(), status.takeUnpublished(), status.takeUnpublished()]).toEqual([
      true,
      [{ vaultId, isOffline: true }],
      [],
    ]);
    status.apply({ vaultId, isOffline: false });
    expect(isOffline()).toBe(false);
    status.apply({ vaultId, isOffline: true });
    expect([isOffline(), status.takeUnpublished()]).toEqual([true, []]);
    status.retainOnly(new Set());
    expect(isOffline()).toBe(false);
  });
});

describe('a rejected signature', () => {
  const rejected = async (from: WebhookLink): Promise<void> => {
    outcomes = [refused];
    await expect(webhook.call(from, storage)).rejects.toMatchObject({ code: 'SIGNATURE_INVALID' });
  };

  it('is reported once a minute for each webhook', async () => {
    const other = { ...link, vaultId: 'vlt_2' as Id<'vlt'> };
    for (const from of [link, link, other]) await rejected(from);
    clock.advance(59_999);
    await rejected(link);
    clock.advance(1);
    await rejected(link);
    expect(alarms).toMatchObject([
      { vaultId: 'vlt_1', path: '/v1/storage', keyId: 'k1' },
      { vaultId: 'vlt_2' },
      { vaultId: 'vlt_1' },
    ]);
  });

  it('is not reported for the key of an interrupted rotation, which the webhook need not know', async () => {
    const key = { id: 'k2', wrapped: 'wrapped' };
    await rejected({ ...link, key, pendingKey: key });
    expect(alarms).toEqual([]);
  });
});
