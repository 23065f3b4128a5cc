import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addTokens } from '../support/beside-the-service.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import type { Answer } from '../support/management-service.ts';
import { uniqueName } from '../support/unique-name.ts';

let service: LinkedService;
const names = ['github', 'gitlab', 'npm'];

beforeAll(async () => {
  service = await startLinkedService();
  await service.bind();
  for (const serviceName of names) await token(serviceName);
});
afterAll(() => service.stop());

const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
  service.admin(method, path, body === undefined ? {} : { body });
const token = (serviceName: string) => call('POST', '/api/tokens', { serviceName, tokenType: 'PlainText' });
const create = (body: object) => call('POST', '/api/folders', body);

async function folder(serviceNames: readonly string[]): Promise<{ id: string; path: string }> {
  const { json } = await create({ name: 'ci', serviceNames });
  return { id: json.id, path: `/api/folders/${json.id}` };
}

describe('folders', () => {
  test('a folder holds tokens of the account, each once, by name', async () => {
    const made = await create({ name: 'Build bots', serviceNames: ['npm', 'github'] });
    expect([made.status, made.json]).toEqual([
      201,
      {
        id: expect.stringMatching(/^fld_/),
        name: 'Build bots',
        serviceNames: ['github', 'npm'],
        createdAt: new Date(service.clock.now()).toISOString(),
        updatedAt: made.json.createdAt,
      },
    ]);
    expect((await call('GET', `/api/folders/${made.json.id}`)).json).toEqual(made.json);
    expect((await call('GET', '/api/folders?limit=100')).json.items).toContainEqual(made.json);
    expect((await create({ name: 'still empty' })).json.serviceNames).toEqual([]);
  });

  test('PATCH /api/folders/{id} replaces the list of tokens', async () => {
    const { path } = await folder(['github', 'npm']);
    service.clock.advance(1_000);
    const renamed = await call('PATCH', path, { name: 'renamed' });
    expect(renamed.json).toMatchObject({ name: 'renamed', serviceNames: ['github', 'npm'] });
    expect(renamed.json.updatedAt > renamed.json.createdAt).toBe(true);
    const replaced = await call('PATCH', path, { serviceNames: ['gitlab'] });
    expect(replaced.json).toMatchObject({ name: 'renamed', serviceNames: ['gitlab'] });
    expect((await call('PATCH', path, { serviceNames: [] })).json.serviceNames).toEqual([]);
  });

  test('a token shows its folders, and deleting it removes it from them', async () => {
    await token('a-short-lived');
    const [one, two] = [await folder(['a-short-lived', 'npm']), await folder(['a-short-lived'])];
    const folderIds = [one.id, two.id].toSorted();
    expect((await call('GET', '/api/tokens/a-short-lived')).json.folderIds.toSorted()).toEqual(folderIds);
    const listed = (await call('GET', '/api/tokens')).json.items as {
      serviceName: string;
      folderIds: string[];
    }[];
    expect(listed.find(({ serviceName }) => serviceName === 'a-short-lived')?.folderIds.toSorted()).toEqual(
      folderIds,
    );
    const patched = await call('PATCH', '/api/tokens/a-short-lived', { notes: 'n' });
    expect(patched.json.folderIds).toHaveLength(2);

    expect((await call('DELETE', '/api/tokens/a-short-lived')).status).toBe(200);
    expect((await call('GET', one.path)).json.serviceNames).toEqual(['npm']);
    expect((await call('GET', two.path)).json.serviceNames).toEqual([]);
    await token('a-short-lived');
    expect((await call('GET', '/api/tokens/a-short-lived')).json.folderIds).toEqual([]);
  });

  test('deleting a folder keeps its tokens', async () => {
    const { id, path } = await folder(['github']);
    expect((await call('DELETE', path)).status).toBe(204);
    for (const method of ['GET', 'DELETE']) expect((await call(method, path)).status).toBe(404);
    expect((await call('PATCH', path, { name: 'x' })).status).toBe(404);
    const { json } = await call('GET', '/api/tokens/github');
    expect(json.folderIds).not.toContain(id);
  });

  test.each([
    [{ serviceNames: ['nope', 'npm', 'neither'] }, ['serviceNames.0', 'serviceNames.2']],
    [{ serviceNames: ['npm', 'github', 'npm'] }, ['serviceNames.2']],
    [{ serviceNames: ['a/b'] }, ['serviceNames.0']],
    [{ serviceNames: Array.from({ length: 501 }, (_, i) => `t${i}`) }, ['serviceNames']],
    [{ serviceNames: 'npm' }, ['serviceNames']],
    [{ name: 'x'.repeat(101) }, ['name']],
    [{ name: 'a\nb' }, ['name']],
    [{ ownerId: 'me' }, ['ownerId']],
  ])('a folder with %j is rejected', async (body, paths) => {
    const { path } = await folder([]);
    const before = (await call('GET', '/api/folders?limit=100')).text;
    for (const answer of [await create({ name: 'f', ...body }), await call('PATCH', path, body)]) {
      expect([answer.status, answer.json.code]).toEqual([422, 'INVALID_ARGUMENT']);
      expect(answer.json.issues.map((issue: { path: string }) => issue.path)).toEqual(paths);
    }
    expect((await call('GET', '/api/folders?limit=100')).text).toBe(before);
  });
});

describe('grants from a folder', () => {
  let agent: string;
  beforeEach(async () => {
    agent = (await call('POST', '/api/agents', { name: uniqueName('builder') })).json.agent.id;
  });
  const grant = (body: object) => call('POST', `/api/agents/${agent}/grants`, body);
  const grants = async () =>
    (await call('GET', `/api/agents/${agent}/grants`)).json.items as {
      serviceName: string;
      sourceGroupId: string | null;
      grantExpiresAt: string | null;
      id: string;
    }[];

  test('granting a folder creates a grant of the same terms for each of its tokens', async () => {
    const { id } = await folder(['github', 'npm']);
    const terms = { expiresInSeconds: 3_600, refreshPolicy: 'auto' };
    const { status, json } = await grant({ folderId: id, ...terms });
    const grantExpiresAt = new Date(service.clock.now() + 3_600_000).toISOString();
    const made = {
      agentId: agent,
      sourceGroupId: id,
      refreshPolicy: 'auto',
      status: 'active',
      grantExpiresAt,
    };
    expect([status, json]).toMatchObject([
      201,
      { grants: ['github', 'npm'].map((serviceName) => ({ serviceName, ...made })), skipped: [] },
    ]);
    expect(await grants()).toEqual(json.grants);
  });

  test('a grant from a folder names the folder and outlives it', async () => {
    const { id, path } = await folder(['github']);
    const { apiKey } = (await call('POST', `/api/agents/${agent}/rotate-key`)).json;
    await grant({ folderId: id });
    await call('DELETE', path);
    const list = await service.anyone('GET', '/api/agents/credentials', {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(list.json.grants).toEqual([
      { serviceName: 'github', grantExpiresAt: null, refreshPolicy: 'none', sourceGroupId: id },
    ]);
    expect(await grants()).toMatchObject([{ serviceName: 'github', sourceGroupId: id }]);
  });

  test('granting a folder skips live grants, names them, and replaces expired ones', async () => {
    await grant({ serviceName: 'gitlab', expiresInSeconds: 3_600 });
    service.clock.advance(3_600_000);
    await grant({ serviceName: 'github' });
    const [kept] = await grants();
    const { id } = await folder(names);
    const { json } = await grant({ folderId: id });
    expect(json.skipped).toEqual(['github']);
    expect(json.grants.map(({ serviceName }: { serviceName: string }) => serviceName)).toEqual([
      'gitlab',
      'npm',
    ]);
    expect(await grants()).toMatchObject([
      kept!,
      { sourceGroupId: id, grantExpiresAt: null },
      { sourceGroupId: id },
    ]);
    const events = (await service.log(`&agentId=${agent}`)).map(({ eventType, serviceName }) => [
      eventType,
      serviceName,
    ]);
    expect(events.slice(0, 3).toSorted((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual([
      ['GRANT_CREATED', 'gitlab'],
      ['GRANT_CREATED', 'npm'],
      ['GRANT_EXPIRED', 'gitlab'],
    ]);

    const again = await grant({ folderId: id });
    expect([again.status, again.json]).toEqual([201, { grants: [], skipped: names }]);
  });

  test('a folder that changes later adds and removes no grants', async () => {
    const { id, path } = await folder(['github']);
    await grant({ folderId: id });
    await call('PATCH', path, { serviceNames: ['npm'] });
    expect((await grants()).map(({ serviceName }) => serviceName)).toEqual(['github']);
  });

  test.each([
    ['neither a service nor a folder', {}, 'serviceName'],
    ['both', { serviceName: 'npm', folderId: 'fld_x' }, 'folderId'],
    ['too short a time', { folderId: 'fld_x', expiresInSeconds: 60 }, 'expiresInSeconds'],
    ['both ends', { folderId: '', expiresInSeconds: 3_600, grantExpiresAt: null }, 'grantExpiresAt'],
  ])('a grant with %s is rejected', async (_what, body, path) => {
    const { id } = await folder(['npm']);
    const answer = await grant({
      ...body,
      ...('folderId' in body && !('serviceName' in body) && { folderId: id }),
    });
    expect([answer.status, answer.json.issues?.[0].path]).toEqual([422, path]);
    expect(await grants()).toEqual([]);
  });

  test.each([
    ['fld_AAAAAAAAAAAAAAAAAAAAAA', 404, 'NOT_FOUND'],
    ['x', 422, 'INVALID_ARGUMENT'],
    ['', 422, 'INVALID_ARGUMENT'],
  ])('a grant from the folder %j, which is none, gets %i %s', async (folderId, status, code) => {
    const answer = await grant({ folderId });
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  test('a folder or token deleted concurrently leaves no grant', async () => {
    for (let round = 0; round < 3; round++) {
      const name = `raced-${round}`;
      await token(name);
      const { id, path } = await folder([name, 'npm']);
      const all = await Promise.all([
        grant({ folderId: id, expiresInSeconds: 3_600 }),
        call('DELETE', `/api/tokens/${name}`),
        call('PATCH', path, { serviceNames: [name] }),
        grant({ folderId: id, expiresInSeconds: 3_600 }),
        call('DELETE', path),
      ]);
      const statuses = all.map(({ status }) => status);
      expect([...new Set(statuses)].filter((status) => ![200, 201, 204, 404, 422].includes(status))).toEqual(
        [],
      );
      expect((await grants()).map(({ serviceName }) => serviceName)).not.toContain(name);
      expect((await call('GET', path)).status).toBe(404);
      await token(name);
      expect((await call('GET', `/api/tokens/${name}`)).json.folderIds).toEqual([]);
      expect((await grant({ folderId: id })).status).toBe(404);
    }
    expect((await call('GET', '/api/audit/verify')).json).toMatchObject({ intact: true });
  });

  test('granting a folder of 500 tokens creates all grants or none, while another one is created', async () => {
    const many = Array.from({ length: 500 }, (_, index) => `many-${String(index).padStart(3, '0')}`);
    await addTokens(service, many);
    const { id } = await folder(many);
    const [all, one] = await Promise.all([grant({ folderId: id }), grant({ serviceName: 'many-250' })]);
    const made = all.json.grants.length as number;
    // Whichever came first, the other one saw it.
    expect([made, all.json.skipped, one.status]).toBeOneOf([
      [500, [], 409],
      [499, ['many-250'], 201],
    ]);
    expect((await call('GET', '/api/audit/verify')).json).toMatchObject({ intact: true });
  });
});
