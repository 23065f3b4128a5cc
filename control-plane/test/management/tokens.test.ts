import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { newId } from '@svault/shared';
import { startLinkedService } from '../support/linked-service.ts';
import { type Answer, type Call, clientOf } from '../support/management-service.ts';
import { serviceInTest } from '../support/use-service.ts';
import { uniqueName } from '../support/unique-name.ts';

let pair: TestPair;
let admin: Call;
beforeAll(async () => {
  pair = await startPair({ logLevel: 'silent' });
  admin = clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` });
});
afterAll(() => pair.close());

const create = (serviceName: string, more: object = {}): Promise<Answer> =>
  admin('POST', '/api/tokens', { body: { serviceName, tokenType: 'PlainText', ...more } });

/** Stores a credential at the webhook with a store ticket. */
async function storeSecret({ url, ticket }: { url: string; ticket: string }, value: string): Promise<number> {
  const response = await fetch(pair.bypassingRecorder(url), {
    method: 'POST',
    headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tokenType: 'PlainText', value }),
  });
  return response.status;
}

test('lists of agents and tokens say how many grants each has', async () => {
  for (const name of ['counted one', 'counted two']) expect((await create(name)).status).toBe(201);
  const ids: string[] = [];
  for (const services of [['counted one'], ['counted one', 'counted two'], []]) {
    const { json } = await admin('POST', '/api/agents', { body: { name: uniqueName('counted') } });
    ids.push(json.agent.id);
    for (const serviceName of services)
      await admin('POST', `/api/agents/${json.agent.id}/grants`, { body: { serviceName } });
  }
  const listed = async (path: string): Promise<unknown[]> =>
    (await admin('GET', `${path}?name=counted`)).json.items.map((item: { grants: unknown }) => item.grants);
  expect(await listed('/api/tokens')).toEqual([2, 1]);
  expect((await admin('GET', '/api/tokens/counted%20one')).json.grants).toBe(2);
  const agents = (await admin('GET', '/api/agents?name=counted')).json.items as {
    id: string;
    grants: number;
  }[];
  expect(new Map(agents.map(({ id, grants }) => [id, grants]))).toEqual(
    new Map(ids.map((id, at) => [id, at < 2 ? at + 1 : 0])),
  );
});

describe('POST /api/tokens', () => {
  test('a new token comes with a ticket that stores its credential at the webhook once', async () => {
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
    const claims: unknown = JSON.parse(Buffer.from(store.ticket.split('.')[1], 'base64url').toString());
    expect(claims).toMatchObject({ ifv: 0 });
    expect(await storeSecret(store, 'canary')).toBe(200);
    expect(await storeSecret(store, 'canary')).toBe(401);

    const read = await admin('GET', '/api/tokens/github');
    expect(read.json).toMatchObject({
      ...token,
      webhook: { serviceName: 'github', version: 1, empty: false },
    });
    expect(read.text).not.toContain('canary');
    const list = await admin('GET', '/api/tokens?limit=100');
    expect(list.json.items).toContainEqual(read.json);
  });

  test('a second token of the same name gets CONFLICT', async () => {
    await create('twice');
    expect(await create('twice')).toMatchObject({ status: 409, json: { code: 'CONFLICT' } });
  });

  test('without a webhook the request fails and stores nothing', async () => {
    const alone = await serviceInTest();
    const body = { serviceName: 'github', tokenType: 'PlainText' };
    const answer = await alone.admin('POST', '/api/tokens', { body });
    expect([answer.status, answer.json.code]).toEqual([502, 'WEBHOOK_NOT_CONFIGURED']);
    expect((await alone.admin('GET', '/api/tokens')).json.items).toEqual([]);
  });
});

test('GET /api/tokens lists those of one type, of one folder, or of both', async () => {
  for (const [name, tokenType] of [
    ['filtered-a', 'JWT'],
    ['filtered-b', 'TOTP'],
    ['filtered-c', 'JWT'],
  ] as const)
    await create(name, { tokenType });
  const folder = { name: 'filtered', serviceNames: ['filtered-b', 'filtered-c'] };
  const { id } = (await admin('POST', '/api/folders', { body: folder })).json;
  const named = async (query: string): Promise<string[]> =>
    (await admin('GET', `/api/tokens?name=filtered&${query}`)).json.items.map(
      (token: { serviceName: string }) => token.serviceName,
    );
  expect(await named('tokenType=JWT')).toEqual(['filtered-a', 'filtered-c']);
  expect(await named(`folderId=${id}`)).toEqual(['filtered-b', 'filtered-c']);
  expect(await named(`folderId=${id}&tokenType=JWT`)).toEqual(['filtered-c']);
  expect(await named(`folderId=${newId('fld')}`)).toEqual([]);
  expect((await admin('GET', '/api/tokens?folderId=filtered')).status).toBe(422);
  expect((await admin('GET', '/api/tokens?tokenType=Text')).status).toBe(422);
});

test('PATCH /api/tokens/{serviceName} changes the named members, and never the type', async () => {
  await create('patched', { description: 'kept', tags: ['a'] });
  const body = { displayName: 'Shown', tags: [] };
  const changed = await admin('PATCH', '/api/tokens/patched', { body });
  expect(changed.json).toMatchObject({ displayName: 'Shown', description: 'kept', tags: [] });
  const type = await admin('PATCH', '/api/tokens/patched', { body: { tokenType: 'JWT' } });
  expect([type.status, type.json.issues[0].path]).toEqual([422, 'tokenType']);
});

describe('DELETE /api/tokens/{serviceName}', () => {
  test('deleting a token deletes its grants and its credential at the webhook', async () => {
    const made = await create('gone');
    await storeSecret(made.json.store, 'canary');
    const { agent } = (await admin('POST', '/api/agents', { body: { name: uniqueName('builder') } })).json;
    await admin('POST', `/api/agents/${agent.id}/grants`, {
      body: { allowMissing: true, serviceName: 'gone' },
    });

    const deleted = await admin('DELETE', '/api/tokens/gone');
    expect([deleted.status, deleted.json]).toEqual([200, { serviceName: 'gone', webhook: 'deleted' }]);
    expect((await admin('GET', '/api/tokens/gone')).status).toBe(404);
    expect((await admin('GET', `/api/agents/${agent.id}/grants`)).json.items).toEqual([]);
    expect((await admin('DELETE', '/api/tokens/gone')).status).toBe(404);

    const anew = await create('gone');
    expect(await storeSecret(anew.json.store, 'another')).toBe(200);
  });

  test('deleting a token with the webhook offline ends access, and a retry deletes the credential', async () => {
    const linked = await startLinkedService();
    onTestFinished(() => linked.stop());
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
  });
});

describe('GET /api/tokens/{serviceName}/history', () => {
  const historyOf = async (name: string, query = '') => {
    const { json } = await admin('GET', `/api/tokens/${name}/history${query}`);
    return json as {
      items: { eventType: string; serviceName: string; userId: string }[];
      nextCursor?: string;
    };
  };

  test('the history lists the events of one token, newest first and in pages', async () => {
    await create('remembered');
    await create('other');
    await admin('PATCH', '/api/tokens/remembered', { body: { notes: 'n' } });
    const { agent } = (await admin('POST', '/api/agents', { body: { name: uniqueName('builder') } })).json;
    await admin('POST', `/api/agents/${agent.id}/grants`, {
      body: { allowMissing: true, serviceName: 'remembered' },
    });
    const seen: { eventType: string; serviceName: string }[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page = await historyOf('remembered', `?limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...page.items);
      cursor = page.nextCursor;
    }
    const types = ['GRANT_CREATED', 'TOKEN_UPDATED', 'TOKEN_STORE_TICKET', 'TOKEN_CREATED'];
    expect(seen.map(({ eventType }) => eventType)).toEqual(types);
    expect(new Set(seen.map(({ serviceName }) => serviceName))).toEqual(new Set(['remembered']));
  });

  test('the history of a deleted token is NOT_FOUND, and the log still has its events', async () => {
    await create('deleted');
    await admin('DELETE', '/api/tokens/deleted');
    expect((await admin('GET', '/api/tokens/deleted/history')).status).toBe(404);
    const { items } = (await admin('GET', '/api/audit?serviceName=deleted')).json;
    expect(items[0]).toMatchObject({ eventType: 'TOKEN_DELETED' });
  });

  test.each(['limit=0', 'limit=101', 'cursor=x', 'cursor=WyJhIl0', 'eventType=LOGIN'])(
    'a history with %s is rejected',
    async (query) => {
      await create('queried');
      expect((await admin('GET', `/api/tokens/queried/history?${query}`)).status).toBe(422);
    },
  );
});

describe('a service name of no token', () => {
  const ROUTES = [
    ['GET', '', undefined],
    ['PATCH', '', { notes: 'n' }],
    ['DELETE', '', undefined],
    ['GET', '/history', undefined],
    ['POST', '/store-ticket', {}],
    ['POST', '/credential-ticket', {}],
  ] as const;
  const MALFORMED = ['a%2Fb', '..%2Fx', '%20a', 'a%0Ab', 'x'.repeat(129), 'A%CC%88', 'e%CC%81', '%00'];

  test.each(ROUTES)(
    '%s /api/tokens/{serviceName}%s finds no unknown name, and rejects a malformed one',
    async (method, action, body) => {
      const asked = async (name: string) => {
        const { status, json } = await admin(method, `/api/tokens/${name}${action}`, { body });
        return [status, json.code];
      };
      expect(await asked('unknown')).toEqual([404, 'NOT_FOUND']);
      for (const name of MALFORMED)
        expect([name, ...(await asked(name))]).toEqual([name, 422, 'INVALID_ARGUMENT']);
    },
  );

  test('a grant of an unknown service name is NOT_FOUND, and that of a malformed one is rejected', async () => {
    const { agent } = (await admin('POST', '/api/agents', { body: { name: uniqueName('builder') } })).json;
    const revoked = async (name: string) =>
      (await admin('DELETE', `/api/agents/${agent.id}/grants/${name}`)).status;
    expect(await revoked('unknown')).toBe(404);
    for (const name of MALFORMED) expect([name, await revoked(name)]).toEqual([name, 422]);
  });

  test('an invalid service name causes no call to the webhook', async () => {
    const before = pair.recorded().length;
    for (const name of MALFORMED) await admin('DELETE', `/api/tokens/${name}`);
    expect(pair.recorded().subarray(before).toString()).not.toContain('tokens.delete');
  });
});

describe('specification, token types: a display name, notes and tags', () => {
  test('a token without them shows its service name and empty texts', async () => {
    expect((await create('bare')).json.token).toMatchObject({
      displayName: 'bare',
      description: '',
      notes: '',
      tags: [],
    });
  });

  // spec: JWT (OAuth/JWT), PlainText (API key or PAT), Certificate (X.509), SSHKey, RawCredential (raw blob), TOTP (2FA).
  test.each(['JWT', 'PlainText', 'Certificate', 'SSHKey', 'RawCredential', 'TOTP'])(
    'a token of type %s is created',
    async (tokenType) => {
      const body = { serviceName: `type-${tokenType}`, tokenType };
      expect((await admin('POST', '/api/tokens', { body })).json.token).toMatchObject(body);
    },
  );

  test.each([
    ['an unknown type', { tokenType: 'Password' }, 'tokenType'],
    ['a display name of two lines', { displayName: 'a\nb' }, 'displayName'],
    ['an empty display name', { displayName: '' }, 'displayName'],
    ['a display name of 201 characters', { displayName: 'x'.repeat(201) }, 'displayName'],
    ['a description of 1,001 characters', { description: 'x'.repeat(1_001) }, 'description'],
    ['notes of 10,001 characters', { notes: 'x'.repeat(10_001) }, 'notes'],
    ['21 tags', { tags: Array.from({ length: 21 }, (_, index) => `t${index}`) }, 'tags'],
    ['a tag of 51 characters', { tags: ['x'.repeat(51)] }, 'tags.0'],
    ['an empty tag', { tags: ['a', ''] }, 'tags.1'],
    ['a tag twice', { tags: ['a', 'b', 'a'] }, 'tags.2'],
  ])('a token with %s is rejected', async (_what, more, path) => {
    const made = await create('refused', more);
    expect([made.status, made.json.issues[0].path]).toEqual([422, path]);
    if ('tokenType' in more) return;
    await create('changed');
    const changed = await admin('PATCH', '/api/tokens/changed', { body: more });
    expect([changed.status, changed.json.issues[0].path]).toEqual([422, path]);
  });

  // spec: Token metadata carries at least a service name, a display name, notes and tags.
  test('a display name, notes and tags of the maximum length are stored', async () => {
    const most = {
      displayName: 'x'.repeat(200),
      description: 'x'.repeat(1_000),
      notes: 'é'.repeat(10_000),
      tags: Array.from({ length: 20 }, (_, index) => String(index).padStart(50, 'x')),
    };
    expect((await create('largest', most)).json.token).toMatchObject(most);
  });
});

test('a store ticket of an admin names the version that it may replace', async () => {
  await create('versioned');
  const ticketFor = async (body: object) =>
    (await admin('POST', '/api/tokens/versioned/store-ticket', { body })).json as {
      url: string;
      ticket: string;
    };
  expect(await storeSecret(await ticketFor({ ifv: 0 }), 'first')).toBe(200);
  expect(await storeSecret(await ticketFor({ ifv: 0 }), 'second')).toBe(409);
  expect(await storeSecret(await ticketFor({ ifv: 1 }), 'second')).toBe(200);
  expect(await storeSecret(await ticketFor({}), 'third')).toBe(200);
  const refused = await admin('POST', '/api/tokens/versioned/store-ticket', { body: { ifv: -1 } });
  expect([refused.status, refused.json.issues[0].path]).toEqual([422, 'ifv']);
});
