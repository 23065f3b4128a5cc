import { describe, expect, test } from 'vitest';
import { useService } from '../support/use-service.ts';
import { uniqueName } from '../support/unique-name.ts';

// What holds for everything that an owner makes.

const service = useService();
let made = 0;

interface Noun {
  readonly path: string;
  readonly body: () => object;
  /** The member of the answer that has the thing; the answer itself unless given. */
  readonly member?: string;
}

const NOUNS: readonly Noun[] = [
  { path: '/api/agents', body: () => ({ name: uniqueName('a') }), member: 'agent' },
  { path: '/api/folders', body: () => ({ name: 'f' }) },
  { path: '/api/policies', body: () => ({ name: 'p', rules: [{ type: 'manual_approval' }] }) },
  {
    path: '/api/proxies',
    body: () => ({
      name: uniqueName('p'),
      upstreamUrl: 'https://mcp.example.com/',
      serviceName: 'github',
      allowMissing: true,
    }),
    member: 'proxy',
  },
  {
    path: '/api/providers',
    body: () => ({
      name: 'p',
      tokenUrl: 'https://id.example.org/token',
      clientId: `client ${++made}`,
      authMethod: 'client_secret_basic',
      clientSecret: 'a client secret',
    }),
  },
  {
    path: '/api/members',
    body: () => ({ email: `noun-${++made}@example.org`, role: 'member' }),
    member: 'member',
  },
];

describe.each(NOUNS)('$path', ({ path, body, member }) => {
  const make = async (): Promise<string> => {
    const { json } = await service.admin('POST', path, { body: body() });
    return (member === undefined ? json : json[member]).id;
  };

  test('is listed oldest first, in pages', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) {
      service.clock.advance(1_000);
      ids.push(await make());
    }
    const seen: string[] = [];
    let cursor = '';
    do {
      const { json } = await service.admin('GET', `${path}?limit=2${cursor}`);
      expect(json.items.length).toBeLessThanOrEqual(2);
      seen.push(...(json.items as { id: string }[]).map(({ id }) => id));
      cursor = json.nextCursor === undefined ? '' : `&cursor=${json.nextCursor}`;
    } while (cursor !== '');
    expect(seen.slice(-5)).toEqual(ids);
    expect(new Set(seen).size).toBe(seen.length);
  });

  test('is unchanged by an empty PATCH, which writes no event', async () => {
    const id = await make();
    const last = async () => (await service.admin('GET', '/api/audit?limit=1')).text;
    const before = await last();
    expect((await service.admin('PATCH', `${path}/${id}`, { body: {} })).status).toBe(200);
    expect(await last()).toBe(before);
  });
});
