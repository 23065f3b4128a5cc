import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { startLinkedService } from './linked-service.ts';
import { type Answer, type Call, clientOf, startService } from './management-service.ts';

let pair: TestPair;
let admin: Call;
beforeAll(async () => {
  pair = await startPair({ logLevel: 'silent' });
  admin = clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` });
});
afterAll(() => pair.close());

const create = (serviceName: string, more: object = {}): Promise<Answer> =>
  admin('POST', '/api/tokens', { body: { serviceName, tokenType: 'PlainText', ...more } });

/** Puts a secret where an answer says: at the webhook, past the service. */
async function storeSecret({ url, ticket }: { url: string; ticket: string }, value: string): Promise<number> {
  const response = await fetch(pair.aroundTheTap(url), {
    method: 'POST',
    headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tokenType: 'PlainText', value }),
  });
  return response.status;
}

describe('POST /api/tokens', () => {
  test('describes a token, and its ticket stores the secret at the webhook once', async () => {
    const made = await create('github', { notes: 'two\nlines', tags: ['ci', 'prod'] });
    expect(made.status).toBe(201);
    const { token, store } = made.json;
    expect(token).toEqual({
      serviceName: 'github',
      tokenType: 'PlainText',
      displayName: 'github',
      description: '',
      notes: 'two\nlines',
      tags: ['ci', 'prod'],
      folderIds: [],
      createdAt: '2026-11-20T12:00:00.000Z',
      updatedAt: '2026-11-20T12:00:00.000Z',
    });
    expect(store.url).toBe(`${pair.webhookUrl}/v1/store`);
    expect(store.expiresAt).toBe('2026-11-20T12:05:00.000Z');
    expect(await storeSecret(store, 'canary')).toBe(200);
    expect(await storeSecret(store, 'canary')).toBe(401);

    const read = await admin('GET', '/api/tokens/github');
    expect(read.json).toMatchObject({
      ...token,
      webhook: { serviceName: 'github', version: 1, empty: false },
    });
    expect(read.text).not.toContain('canary');
    const list = await admin('GET', '/api/tokens');
    expect(list.json.items).toEqual([read.json]);
  });

  test('a second token of the name is a conflict', async () => {
    await create('twice');
    const again = await create('twice');
    expect([again.status, again.json.code]).toEqual([409, 'CONFLICT']);
  });

  test('without a webhook it is refused and nothing is kept', async () => {
    const alone = await startService();
    try {
      const body = { serviceName: 'github', tokenType: 'PlainText' };
      const answer = await alone.admin('POST', '/api/tokens', { body });
      expect([answer.status, answer.json.code]).toEqual([502, 'WEBHOOK_NOT_CONFIGURED']);
      expect((await alone.admin('GET', '/api/tokens')).json.items).toEqual([]);
    } finally {
      await alone.stop();
    }
  });
});

test('PATCH changes what it names; the type stays what it is', async () => {
  await create('patched', { description: 'kept', tags: ['a'] });
  const body = { displayName: 'Shown', tags: [] };
  const changed = await admin('PATCH', '/api/tokens/patched', { body });
  expect(changed.json).toMatchObject({ displayName: 'Shown', description: 'kept', tags: [] });
  const type = await admin('PATCH', '/api/tokens/patched', { body: { tokenType: 'JWT' } });
  expect([type.status, type.json.issues[0].path]).toEqual([422, 'tokenType']);
});

describe('DELETE /api/tokens/{serviceName}', () => {
  test('takes the token, every grant for it and the record at the webhook', async () => {
    const made = await create('gone');
    await storeSecret(made.json.store, 'canary');
    const { agent } = (await admin('POST', '/api/agents', { body: { name: 'builder' } })).json;
    await admin('POST', `/api/agents/${agent.id}/grants`, { body: { serviceName: 'gone' } });

    const deleted = await admin('DELETE', '/api/tokens/gone');
    expect([deleted.status, deleted.json]).toEqual([200, { serviceName: 'gone', webhook: 'deleted' }]);
    expect((await admin('GET', '/api/tokens/gone')).status).toBe(404);
    expect((await admin('GET', `/api/agents/${agent.id}/grants`)).json.items).toEqual([]);
    expect((await admin('DELETE', '/api/tokens/gone')).status).toBe(404);

    const anew = await create('gone');
    expect(await storeSecret(anew.json.store, 'another')).toBe(200);
  });

  test('with the webhook away access ends all the same, and a repeat reaches the record later', async () => {
    const linked = await startLinkedService();
    try {
      await linked.bind();
      const { id } = await linked.agent('orphan');
      const body = { serviceName: 'orphan', tokenType: 'PlainText' };
      await linked.admin('POST', '/api/tokens', { body });
      linked.webhook.fault = (path) => (path === '/v1/storage' ? 'break' : undefined);
      const away = await linked.admin('DELETE', '/api/tokens/orphan');
      expect([away.status, away.json]).toEqual([200, { serviceName: 'orphan', webhook: 'unreachable' }]);
      expect((await linked.admin('GET', `/api/agents/${id}/grants`)).json.items).toEqual([]);

      linked.webhook.fault = () => ({ status: 200, body: '{"deleted":true}' });
      const repeat = await linked.admin('DELETE', '/api/tokens/orphan');
      expect([repeat.status, repeat.json.webhook]).toEqual([200, 'deleted']);
      const [last] = await linked.log('&eventType=TOKEN_DELETED');
      expect(last).toMatchObject({ serviceName: 'orphan', outcome: 'success' });
    } finally {
      await linked.stop();
    }
  });

  test('lists go on without what the webhook would say, while it breaks off, lies or hangs', async () => {
    const linked = await startLinkedService();
    try {
      await linked.bind();
      await linked.admin('POST', '/api/tokens', { body: { serviceName: 'a', tokenType: 'PlainText' } });
      for (const fault of [
        'hang',
        'break',
        { status: 200, body: '{"results":[{"serviceName":"a"}]}' },
      ] as const) {
        linked.webhook.fault = () => fault;
        for (const path of ['/api/tokens', '/api/tokens/a']) {
          const answer = await linked.admin('GET', path);
          expect([path, answer.status]).toEqual([path, 200]);
          expect(answer.text).not.toContain('"webhook"');
        }
      }
    } finally {
      await linked.stop();
    }
  });
});
