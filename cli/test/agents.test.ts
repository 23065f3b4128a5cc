import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createSealingKey } from '@svault/shared/sealed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';
import type { Outcome } from './command-line.ts';

let people: PairAndPeople;

beforeAll(async () => {
  people = await pairAndPeople();
});
afterAll(() => people.close());

const svault = (...args: string[]): Promise<Outcome> => people.admin.svault(args);

async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { code, out, err } = await svault(...args, '--format', 'json');
  expect({ code, err }).toEqual({ code: 0, err: expect.any(String) });
  return JSON.parse(out) as Record<string, unknown>;
}

/** @returns its id */
async function made(name: string): Promise<string> {
  const { agent } = (await json('agents', 'create', '--name', name)) as { agent: { id: string } };
  return agent.id;
}

const OTHER = { id: 'agt_1', name: 'other' };
const LAST = { id: 'agt_2', name: 'last' };

/** A service whose list of agents has these pages, by their cursors. */
async function listing(
  pages: Readonly<Record<string, object>>,
): Promise<AsyncDisposable & { readonly env: Readonly<Record<string, string>> }> {
  const server = createServer(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const page = pathname === '/api/agents' ? pages[searchParams.get('cursor') ?? ''] : { items: [] };
    response.end(JSON.stringify(page));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    env: { SVAULT_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

describe('agents create', () => {
  test('prints the key alone on stdout, and an agent that asks with it', async () => {
    const { code, out, err } = await svault(
      'agents',
      'create',
      '--name',
      'builder',
      '--grants',
      'github, npm,github',
    );
    expect(code).toBe(0);
    expect(out).toMatch(/^svagent_\S+\n$/);
    expect(err).toMatch(
      /^builder \(agt_\S+\) is made; its key, which is shown this once:\nbuilder may have github until it is revoked\nbuilder may have npm until it is revoked\n$/,
    );
    const answer = await fetch(`${people.pair.controlPlaneUrl()}/api/agents/credentials`, {
      headers: { authorization: `Bearer ${out.trim()}` },
    });
    expect(await answer.json()).toMatchObject({
      grants: [{ serviceName: 'github' }, { serviceName: 'npm' }],
    });
  });

  test('as JSON gives agent, key and grants', async () => {
    expect(
      await json(
        'ag',
        'create',
        '--name',
        'jay',
        '--mcp',
        '--description',
        'of two\nlines',
        '--grants',
        'github',
      ),
    ).toEqual({
      agent: expect.objectContaining({
        name: 'jay',
        mcpEnabled: true,
        description: 'of two\nlines',
      }) as unknown,
      apiKey: expect.stringMatching(/^svagent_/) as unknown,
      grants: [expect.objectContaining({ serviceName: 'github', status: 'active' })],
    });
  });

  test('with a format of names leaves the key out and says so', async () => {
    expect(await svault('agents', 'create', '--name', 'quiet', '--format', 'name')).toEqual({
      code: 0,
      out: 'quiet\n',
      err: expect.stringMatching(/this format leaves its key out\n$/) as unknown,
    });
  });

  test.each([
    [[], 'an agent needs a name: --name'],
    [['--name', ''], 'an agent needs a name: --name'],
    [['--name', 'x', '--grants', 'github,a/b'], '“a/b” is no name of a token'],
    [['--name', 'x', '--sealing-key', 'none'], 'that is no public JWK'],
  ])('makes nothing with %j', async (args, said) => {
    const before = await json('agents', 'list');
    const { code, out, err } = await svault('agents', 'create', ...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(said);
    expect(await json('agents', 'list')).toEqual(before);
  });

  test('shows under --dry-run what it would send, and sends nothing', async () => {
    const before = await json('agents', 'list');
    const { code, out, err } = await svault(
      'agents',
      'create',
      '--name',
      'ghost',
      '--grants',
      'a,b',
      '--dry-run',
    );
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.match(/^POST .*$/gm)?.map((line) => new URL(line.slice(5)).pathname)).toEqual([
      '/api/agents',
      '/api/agents/ID/grants',
      '/api/agents/ID/grants',
    ]);
    expect(await json('agents', 'list')).toEqual(before);
  });
});

describe('an agent is meant', () => {
  test('by its id, and by its name in either form of Unicode', async () => {
    const id = await made('Zo\u00EB');
    for (const reference of [id, 'Zo\u00EB', 'Zoe\u0308'])
      expect(await json('agents', 'show', reference)).toMatchObject({ id, grants: [] });
  });

  test('by a name that several have: exit 2, with their ids', async () => {
    const ids = [await made('twin'), await made('twin')];
    const { code, err } = await svault('agents', 'suspend', 'twin');
    expect(code).toBe(2);
    expect(err).toMatch(/^error: 2 agents are called twin; .*\n$/);
    for (const id of ids) expect(err).toContain(id);
    const { out } = await svault('agents', 'list', '--format', 'name');
    expect(out.split('\n')).toEqual(expect.arrayContaining(ids));
    expect(out).not.toContain('twin');
  });

  test('by its id where several have its name: so it is named afterwards too', async () => {
    const [id] = [await made('triplet'), await made('triplet')];
    for (const words of [['show'], ['edit', '--mcp'], ['suspend'], ['resume'], ['rm', '--yes']]) {
      const { code, out, err } = await svault('agents', ...words, '--format', 'name', '--', id);
      expect({ code, out }).toEqual({ code: 0, out: `${id}\n` });
      if (words[0] === 'suspend') expect(err).toContain(`svault agents resume ${id}\n`);
    }
  });

  test('by its id before another that is called so', async () => {
    const id = await made('first');
    const other = await made(id);
    expect(await json('agents', 'show', id)).toMatchObject({ id, name: 'first' });
    const { out } = await svault('agents', 'list', '--format', 'name');
    expect(out.split('\n')).toContain(other);
    expect(out.split('\n')).not.toContain(id);
  });

  test('by a name on a later page', async () => {
    const pages = { '': { items: [OTHER], nextCursor: 'next?' }, 'next?': { items: [LAST] } };
    await using service = await listing(pages);
    const { err } = await people.admin.svault(['grants', 'list', 'last', '--debug'], service);
    expect(err).toMatch(/^> GET \S+\/api\/agents\/agt_2\/grants\?/m);
  });

  test('not where the list of a control plane goes round', async () => {
    await using service = await listing({
      '': { items: [OTHER], nextCursor: 'a' },
      a: { items: [LAST], nextCursor: 'a' },
    });
    const { code, out, err } = await people.admin.svault(['grants', 'list', 'last'], service);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^error: 127\.0\.0\.1:\d+ gives a list that does not end\n$/);
  });

  test.each([
    ['Buildre', /^error: there is no agent Buildre; svault agents list shows those there are\n$/],
    ['sINGLE', /^error: there is no agent sINGLE; like it: single\n$/],
    ['agt_nobody', /^error: there is no agent agt_nobody; /],
    ['../vault', /^error: there is no agent \.\.\/vault; /],
  ])('not by %s: exit 4', async (reference, said) => {
    await made('single');
    const { code, out, err } = await svault('agents', 'show', reference);
    expect({ code, out }).toEqual({ code: 4, out: '' });
    expect(err).toMatch(said);
  });

  test('not by nothing: exit 2', async () => {
    expect(await svault('agents', 'rm', ' ')).toMatchObject({ code: 2, out: '' });
  });
});

describe('agents edit', () => {
  test('edit changes only the members that are given', async () => {
    const id = await made('before');
    const { code, out, err } = await svault('agents', 'edit', 'before', '--name', 'after', '--mcp');
    expect({ code, out, err }).toEqual({ code: 0, out: '', err: 'before, now after, is changed\n' });
    expect(await json('agents', 'edit', 'after', '--no-mcp')).toMatchObject({
      id,
      name: 'after',
      mcpEnabled: false,
    });
  });

  test('takes a sealing key, from a file as well, and forgets it', async () => {
    const { publicJwk, thumbprint } = createSealingKey();
    const file = join(people.admin.dir, 'public.jwk');
    writeFileSync(file, `${JSON.stringify(publicJwk)}\n`);
    await made('sealed');
    for (const key of [JSON.stringify(publicJwk), `@${file}`])
      expect(await json('agents', 'edit', 'sealed', '--sealing-key', key)).toMatchObject({
        sealingKeyThumbprint: thumbprint,
      });
    expect(await json('agents', 'edit', 'sealed', '--sealing-key', 'none')).not.toHaveProperty(
      'sealingKeyThumbprint',
    );
  });

  test('refuses a private key without showing it, a point that is on no curve, and nothing at all', async () => {
    const { privateJwk, publicJwk } = createSealingKey();
    const whole = privateJwk.reveal();
    const refused = async (...args: string[]): Promise<string> => {
      const { code, out, err } = await svault('agents', 'edit', 'anybody', ...args);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      return err;
    };
    const err = await refused('--sealing-key', JSON.stringify(whole));
    expect(err).toContain('that is a private key');
    expect(err).not.toContain(whole.d);
    expect(await refused('--sealing-key', JSON.stringify({ ...publicJwk, y: publicJwk.x }))).toContain(
      'that is no public JWK',
    );
    expect(await refused('--sealing-key', '@/nowhere/there')).toMatch(
      /^error: \/nowhere\/there cannot be read: /,
    );
    expect(await refused()).toContain('nothing to change');
  });
});

test('suspend (off) and resume (on) say how it is, and do no harm twice', async () => {
  const { key } = await people.agent('sleeper', 'github');
  const ask = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${key}` };
    return (await fetch(`${people.pair.controlPlaneUrl()}/api/agents/credentials`, { headers })).status;
  };
  for (const verb of ['suspend', 'off']) {
    expect(await svault('agents', verb, 'sleeper')).toEqual({
      code: 0,
      out: '',
      err: 'sleeper is suspended: all its requests are refused until svault agents resume sleeper\n',
    });
    expect(await ask()).toBe(403);
  }
  for (const verb of ['resume', 'on']) {
    expect(await svault('agents', verb, 'sleeper')).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringMatching(/active/) as unknown,
    });
    expect(await ask()).toBe(200);
  }
});

describe('agents rm', () => {
  test('deletes where --yes answers for a person, and the name is free', async () => {
    const id = await made('doomed');
    expect(await svault('agents', 'rm', 'doomed')).toMatchObject({ code: 2, out: '' });
    expect(await svault('agents', 'rm', 'doomed', '--yes')).toEqual({
      code: 0,
      out: '',
      err: `doomed (${id}) is deleted, with its key and its grants\n`,
    });
    expect(await svault('agents', 'show', 'doomed')).toMatchObject({ code: 4 });
    expect(await json('agents', 'show', id)).toMatchObject({ status: 'deleted' });
    expect(await svault('agents', 'resume', id)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/\[CONFLICT: svault explain CONFLICT\]\n$/) as unknown,
    });
  });
});

test('an agent’s login may not manage agents: exit 3, before any request', async () => {
  const agent = await people.agent('climber');
  for (const args of [
    ['agents', 'list'],
    ['grants', 'list', 'climber'],
    ['vault', 'status'],
  ]) {
    const { code, out, err } = await agent.svault([...args, '--debug']);
    expect({ code, out }).toEqual({ code: 3, out: '' });
    expect(err).not.toContain('> GET');
  }
});

describe('lists and tables', () => {
  test('a list says how agents are, and in the wide format everything', async () => {
    await made('visible');
    const table = await svault('agents', 'list');
    expect(table.out).toMatch(/^NAME +STATUS +MCP +LAST USED +ID\n/);
    expect(table.out).toMatch(/^visible +active +off +never +agt_\S+$/m);
    const wide = await svault('agents', 'list', '--format', 'wide');
    expect(wide.out).toMatch(/^NAME +STATUS +MCP +LAST USED +ID +DESCRIPTION +KEY +SEALING KEY +CREATED\n/);
  });

  test('one agent has its grants with it', async () => {
    await svault('agents', 'create', '--name', 'bearer');
    await svault('grants', 'add', 'bearer', 'github');
    await svault('grants', 'add', 'bearer', 'npm', '--expires', '1h30m');
    const { out } = await svault('agents', 'show', 'bearer');
    expect(out).toMatch(/^name +bearer\nstatus +active\n/);
    expect(out).toMatch(/^grants +github: until revoked\n +npm: until \S+Z \(.+\)\n$/m);
  });
});
