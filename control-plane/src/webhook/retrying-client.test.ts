import { type Id, ManualClock } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import { createCallBudget } from './call-budget.ts';
import { type LinkedWebhook, createLinkedWebhook } from './retrying-client.ts';
import { type OutageNotes, createOnlineStatus } from './outages.ts';
import type { WebhookCall } from './client.ts';
import { WebhookCallFailed } from './call-failed.ts';
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
let status: OutageNotes;
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
    budget: createCallBudget({ clock }),
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
  const once = (): Promise<unknown> =>
    webhook.call(link, { ...storage, repeat: false }).catch(() => undefined);
  const isOffline = (): boolean => status.offlineForSeconds(link.vaultId) > 0;

  it('begins with a call that fails, lasts however long nobody answers, and ends with one that is answered', async () => {
    outcomes = [unreachable];
    await once();
    expect(status.offlineForSeconds(link.vaultId)).toBe(2);
    clock.advance(3_600_000);
    expect(status.offlineForSeconds(link.vaultId)).toBe(2);
    await once();
    expect(status.offlineForSeconds(link.vaultId)).toBe(0);
  });

  it('ends with a refusal too: the webhook is there', async () => {
    outcomes = [unreachable, refused];
    await once();
    await once();
    expect(isOffline()).toBe(false);
  });

  it('does not begin with one call that is late, and does with the next one', async () => {
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

  it('does not begin with calls that were late at the same time, nor with two that an answer came between', async () => {
    const both = [status.begin(link.vaultId), status.begin(link.vaultId)];
    clock.advance(10_000);
    for (const each of both) each.failed('late');
    expect(isOffline()).toBe(false);
    outcomes = [];
    await once();
    outcomes = [late];
    await once();
    expect(isOffline()).toBe(false);
  });

  it('is not told by a call that began before another one was answered', () => {
    const hung = status.begin(link.vaultId);
    clock.advance(1_000);
    status.begin(link.vaultId).answered();
    clock.advance(9_000);
    hung.failed('broken');
    expect(isOffline()).toBe(false);
    status.begin(link.vaultId).failed('broken');
    expect(isOffline()).toBe(true);
  });

  it('is neither a refusal nor garbage', async () => {
    for (const outcome of [refused, () => new WebhookCallFailed('garbage', 'what?')]) {
      outcomes = [outcome];
      await once();
      expect(isOffline()).toBe(false);
    }
  });

  it("says nothing about another account's webhook that took the same id", async () => {
    outcomes = [unreachable];
    await once();
    expect(status.offlineForSeconds('vlt_2' as Id<'vlt'>)).toBe(0);
  });

  it('is told to other processes once each time that it begins or ends, and what they say does not undo what is newer here', () => {
    const { vaultId } = link;
    status.begin(vaultId).failed('broken');
    status.begin(vaultId).failed('broken');
    status.learn({ vaultId, isOffline: false });
    expect([isOffline(), status.takeChanges(), status.takeChanges()]).toEqual([
      true,
      [{ vaultId, isOffline: true }],
      [],
    ]);
    status.learn({ vaultId, isOffline: false });
    expect(isOffline()).toBe(false);
    status.learn({ vaultId, isOffline: true });
    expect([isOffline(), status.takeChanges()]).toEqual([true, []]);
    status.learnAll(new Set());
    expect(isOffline()).toBe(false);
  });
});
