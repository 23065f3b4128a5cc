import { type Id, ManualClock } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import { type LinkedWebhook, createLinkedWebhook } from './linked-webhook.ts';
import { type OnlineStatus, createOnlineStatus } from './online-status.ts';
import type { WebhookCall } from './signed-client.ts';
import { WebhookCallFailed } from './webhook-call-failed.ts';
import type { WebhookLink } from './webhook-link.ts';

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

const ANSWER = { body: { status: 'ok' }, latencyMs: 3 };
const unreachable = () => new WebhookCallFailed('unreachable', 'no connection');
const refused = () => new WebhookCallFailed('refused', 'no', { status: 401, code: 'SIGNATURE_INVALID' });

let clock: ManualClock;
let status: OnlineStatus;
let calls: WebhookCall[];
let outcomes: (() => WebhookCallFailed)[];
let pauses: number[];
let webhook: LinkedWebhook;

beforeEach(() => {
  clock = new ManualClock();
  status = createOnlineStatus(clock);
  calls = [];
  outcomes = [];
  pauses = [];
  webhook = createLinkedWebhook({
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
    wait: async (ms) => void pauses.push(ms),
  });
});

const storage = { path: '/v1/storage', body: { op: 'tokens.list' } } as const;

describe('repeating (protocol.md section 2)', () => {
  it('repeats what is safe to repeat twice, after 1 s and 3 s', async () => {
    outcomes = [unreachable, unreachable];
    expect(await webhook.call(link, storage)).toBe(ANSWER);
    expect(pauses).toEqual([1_000, 3_000]);
    expect(calls).toHaveLength(3);
  });

  it('repeats a notice that a token wants refreshing, and never the refresh itself', async () => {
    outcomes = [unreachable];
    await webhook.call(link, { path: '/v1/refresh-notify', body: {} });
    expect([calls.length, pauses]).toEqual([2, [1_000]]);
    outcomes = [unreachable];
    const refresh = { path: '/v1/refresh', body: {}, repeat: false } as const;
    await expect(webhook.call(link, refresh)).rejects.toMatchObject({ failure: 'unreachable' });
    expect(calls).toHaveLength(3);
  });

  it('gives up after that', async () => {
    outcomes = [unreachable, unreachable, unreachable];
    await expect(webhook.call(link, storage)).rejects.toMatchObject({ failure: 'unreachable' });
    expect(calls).toHaveLength(3);
  });

  it('does not repeat what the webhook refused', async () => {
    outcomes = [refused];
    await expect(webhook.call(link, storage)).rejects.toMatchObject({ failure: 'refused' });
    expect(calls).toHaveLength(1);
  });

  it('does not repeat for a caller in a hurry, nor an exchange', async () => {
    outcomes = [unreachable];
    await expect(webhook.call(link, { ...storage, repeat: false })).rejects.toThrow();
    outcomes = [unreachable];
    await expect(webhook.requestNewKey(link)).rejects.toThrow();
    expect(calls).toHaveLength(2);
  });
});

describe('being offline', () => {
  it('begins with a try that fails and ends with one that is answered', async () => {
    outcomes = [unreachable];
    await webhook.call(link, { ...storage, repeat: false }).catch(() => undefined);
    expect(status.offlineForSeconds(link.vaultId)).toBe(15);
    clock.advance(4_100);
    expect(status.offlineForSeconds(link.vaultId)).toBe(11);
    await webhook.call(link, storage);
    expect(status.offlineForSeconds(link.vaultId)).toBe(0);
  });

  it('lasts 15 s by a clock that does not jump', () => {
    status.begin(link.vaultId).failed();
    clock.jump(3_600_000);
    expect(status.offlineForSeconds(link.vaultId)).toBe(15);
    clock.advance(15_000);
    expect(status.offlineForSeconds(link.vaultId)).toBe(0);
  });

  it('is not told by a call that began before another one was answered', () => {
    const hung = status.begin(link.vaultId);
    clock.advance(1_000);
    status.begin(link.vaultId).answered();
    clock.advance(9_000);
    hung.failed();
    expect(status.offlineForSeconds(link.vaultId)).toBe(0);
    status.begin(link.vaultId).failed();
    expect(status.offlineForSeconds(link.vaultId)).toBe(15);
  });

  it('is not a refusal', async () => {
    outcomes = [refused];
    await webhook.call(link, storage).catch(() => undefined);
    expect(status.offlineForSeconds(link.vaultId)).toBe(0);
  });

  it("says nothing about another account's webhook that took the same id", async () => {
    outcomes = [unreachable];
    await webhook.call(link, { ...storage, repeat: false }).catch(() => undefined);
    expect(status.offlineForSeconds('vlt_2' as Id<'vlt'>)).toBe(0);
  });
});
