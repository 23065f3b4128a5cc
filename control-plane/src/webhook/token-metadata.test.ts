import { describe, expect, test } from 'vitest';
import { newId } from '@svault/shared';
import type { WebhookClient } from './retrying-client.ts';
import { WebhookCallFailed } from './call-failed.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import { createWebhookRecords } from './token-metadata.ts';

const VAULT = newId('vlt');
const LINK: WebhookLink = {
  vaultId: VAULT,
  webhookId: 'whk_1',
  url: 'https://hook.example',
  key: { id: 'k1', wrapped: '' },
  pendingKey: undefined,
  capabilities: [],
  boundAt: '2026-11-20T12:00:00.000Z',
  boundBy: newId('usr'),
  lastSeenAt: undefined,
  latencyMs: undefined,
};

const record = (serviceName: string): object => ({
  serviceName,
  tokenType: 'PlainText',
  createdAt: '2026-11-20T12:00:00.000Z',
  updatedAt: '2026-11-20T12:00:00.000Z',
  hasRefreshToken: false,
  version: 1,
  delivery: 'any',
  allowedHosts: [],
  allowedHeaders: [],
  empty: false,
});

function recordsOver(
  answer: () => Promise<Record<string, unknown>>,
  { link = LINK, offlineForSeconds = 0 }: { link?: WebhookLink | undefined; offlineForSeconds?: number } = {},
) {
  const calls: object[] = [];
  const call: WebhookClient['call'] = async (_link, { body }) => {
    calls.push(body ?? {});
    return { body: await answer(), latencyMs: 1 };
  };
  const records = createWebhookRecords({
    links: { find: () => Promise.resolve(link) },
    webhook: { call },
    status: { offlineForSeconds: () => offlineForSeconds },
    mirror: { noteRecords: () => Promise.resolve() },
  });
  return { records, calls };
}

const away = () => Promise.reject(new WebhookCallFailed('unreachable', 'away'));

describe('lookUp of the webhook records', () => {
  test('makes one call for all names and returns the records that the webhook holds', async () => {
    const notFound = { error: 'no such record', code: 'NOT_FOUND' };
    const { records, calls } = recordsOver(() =>
      Promise.resolve({ results: [record('a'), notFound, record('c')] }),
    );
    const held = await records.lookUp(VAULT, ['a', 'b', 'c']);
    expect([...held.keys()]).toEqual(['a', 'c']);
    expect(calls).toEqual([
      {
        batch: [
          { op: 'tokens.get', serviceName: 'a' },
          { op: 'tokens.get', serviceName: 'b' },
          { op: 'tokens.get', serviceName: 'c' },
        ],
      },
    ]);
  });

  test('drops answers with another name or form, and unknown members', async () => {
    const answer = {
      results: [record('b'), { serviceName: 'b' }, { ...record('c'), accessToken: 'canary' }],
    };
    const { records } = recordsOver(() => Promise.resolve(answer));
    const held = await records.lookUp(VAULT, ['a', 'b', 'c']);
    expect([...held.keys()]).toEqual(['c']);
    expect(JSON.stringify([...held])).not.toContain('canary');
  });

  test('returns nothing where the webhook is unreachable, answers garbage, or never answers', async () => {
    for (const answer of [
      away,
      () => Promise.resolve({ what: 1 }),
      () => new Promise<never>(() => undefined),
    ])
      expect((await recordsOver(answer).records.lookUp(VAULT, ['a'])).size).toBe(0);
  });

  test('makes no call for no names, without a webhook, or while the webhook is offline', async () => {
    const answer = () => Promise.resolve({ results: [record('a')] });
    const idle = recordsOver(answer);
    await idle.records.lookUp(VAULT, []);
    const offline = recordsOver(answer, { offlineForSeconds: 3 });
    await offline.records.lookUp(VAULT, ['a']);
    expect([...idle.calls, ...offline.calls]).toEqual([]);
  });
});

describe('remove of a webhook record', () => {
  test.each([
    ['deleted', () => Promise.resolve({ deleted: true })],
    ['absent', () => Promise.resolve({ deleted: false })],
    [
      'absent',
      () => Promise.reject(new WebhookCallFailed('refused', 'gone', { status: 404, code: 'NOT_FOUND' })),
    ],
    ['unreachable', away],
  ])('returns %s', async (expected, answer) => {
    expect(await recordsOver(answer).records.remove(VAULT, 'a')).toBe(expected);
  });
});
