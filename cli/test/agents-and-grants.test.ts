import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId, newKey } from '@svault/shared';
import { createSealingKey } from '@svault/shared/sealed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CommandLine, type Outcome, someone } from './command-line.ts';
import { type Answer, type FakeServer, fakeServer } from './fake-servers.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
beforeAll(async () => {
  people = await pairAndPeople();
  for (const serviceName of ['github', 'npm', 'pypi'])
    await people.pair.admin.call('POST', '/api/tokens', { serviceName, tokenType: 'PlainText' });
});
afterAll(() => people.close());

/** @param line words with a space between each two */
const svault = (line: string, ...more: readonly string[]): Promise<Outcome> =>
  people.admin.svault([...line.split(' '), ...more]);

async function json(line: string, ...more: readonly string[]): Promise<Record<string, unknown>> {
  const { code, out } = await svault(line, ...more, '--format', 'json');
  expect(code).toBe(0);
  return JSON.parse(out) as Record<string, unknown>;
}
const namesIn = async (line: string): Promise<readonly string[]> =>
  (await svault(`${line} --format name`)).out.trimEnd().split('\n');

/** @returns its id */
async function made(name: string): Promise<string> {
  const { agent } = (await json('agents create --name', name)) as { agent: { id: string } };
  return agent.id;
}
const matching = (text: RegExp): string => expect.stringMatching(text) as string;

/** The status of a request with an agent's key. */
const statusFor = async (key: string): Promise<number> => {
  const headers = { authorization: `Bearer ${key}` };
  return (await fetch(`${people.pair.controlPlaneUrl()}/api/agents/credentials`, { headers })).status;
};

describe('agents create', () => {
  test('prints the key alone on stdout, and an agent that asks with it', async () => {
    const { code, out, err } = await svault('agents create --name builder --grants', 'github, npm,github');
    expect({ code, out }).toEqual({ code: 0, out: matching(/^svagent_\S+\n$/) });
    expect(err).toMatch(
      /^builder \(agt_\S+\) is created; its key, which is shown only once:\nbuilder may have github until it is revoked\nbuilder may have npm until it is revoked\n$/,
    );
    expect(await statusFor(out.trim())).toBe(200);
    expect(await namesIn('grants list builder')).toEqual(['github', 'npm']);
  });

  test('as JSON gives agent, key and grants', async () => {
    const description = 'of two\nlines';
    expect(await json('ag create --name jay --mcp --grants github --description', description)).toEqual({
      agent: expect.objectContaining({ name: 'jay', mcpEnabled: true, description }) as unknown,
      apiKey: matching(/^svagent_/),
      grants: [expect.objectContaining({ serviceName: 'github', status: 'active' })],
    });
  });

  test('with a format of names leaves the key out and says so', async () => {
    const err = matching(/this format leaves its key out\n$/);
    expect(await svault('agents create --name quiet --format name')).toEqual({
      code: 0,
      out: 'quiet\n',
      err,
    });
  });

  test.each([
    [[], 'an agent needs a name: --name'],
    [['--name', ''], 'an agent needs a name: --name'],
    [['--name', 'x', '--grants', 'github,a/b'], '“a/b” is not a name of a credential'],
    [['--name', 'x', '--sealing-key', 'none'], 'that is not a public JWK'],
  ])('makes nothing with %j', async (args, said) => {
    const { code, out, err } = await svault('agents create', ...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(said);
    expect(await namesIn('agents list')).not.toContain('x');
  });
});

describe('an agent is meant', () => {
  test('by its id, and by its name in either form of Unicode', async () => {
    const id = await made('Zo\u00EB');
    for (const reference of [id, 'Zo\u00EB', 'Zoe\u0308'])
      expect(await json('agents show', reference)).toMatchObject({ id, grants: [] });
  });

  test('by a name that no other agent can have: a second one of that name is refused', async () => {
    const id = await made('twin');
    for (const name of ['twin', 'Twin', 'tw\u200Bin', '\uFF54win']) {
      const { code, out, err } = await svault('agents create --name', name);
      expect([name, code, out]).toEqual([name, 1, '']);
      expect(err).toContain(`There is an agent \`twin\` (${id}) already.`);
    }
    await made('other');
    expect(await svault('agents edit other --name TWIN')).toMatchObject({ code: 1 });
    expect(await svault('agents edit twin --name Twin')).toMatchObject({ code: 0 });
    expect(await svault('agents create --name', id)).toMatchObject({
      code: 1,
      err: matching(/form of an id/),
    });
  });

  test.each([
    ['Buildre', /^error: there is no agent Buildre: svault agents list shows them all\n$/],
    ['sINGLE', /^error: there is no agent sINGLE; did you mean single\?\n$/],
    ['agt_nobody', /^error: there is no agent agt_nobody: /],
    ['../vault', /^error: there is no agent \.\.\/vault: /],
  ])('not by %s: exit 4', async (reference, said) => {
    await svault('agents create --name single');
    expect(await svault('agents show', reference)).toEqual({ code: 4, out: '', err: matching(said) });
  });

  test('not by nothing: exit 2', async () => {
    expect(await svault('agents rm', ' ')).toMatchObject({ code: 2, out: '' });
  });
});

describe('agents edit', () => {
  test('changes only the members that are given', async () => {
    const id = await made('before');
    const err = 'before, now after, is updated: name, mcp enabled\n';
    expect(await svault('agents edit before --name after --mcp')).toEqual({ code: 0, out: '', err });
    expect(await json('agents edit after --no-mcp')).toMatchObject({ id, name: 'after', mcpEnabled: false });
  });

  test('takes a sealing key, from a file as well, and forgets it', async () => {
    const { publicJwk, thumbprint: sealingKeyThumbprint } = createSealingKey();
    const file = join(people.admin.dir, 'public.jwk');
    writeFileSync(file, `${JSON.stringify(publicJwk)}\n`);
    await made('sealed');
    const edited = (key: string): Promise<object> => json('agents edit sealed --sealing-key', key);
    for (const key of [JSON.stringify(publicJwk), `@${file}`])
      expect(await edited(key)).toMatchObject({ sealingKeyThumbprint });
    expect(await edited('none')).not.toHaveProperty('sealingKeyThumbprint');
  });

  test('refuses a private key without showing it, a point that is on no curve, and nothing at all', async () => {
    const { privateJwk, publicJwk } = createSealingKey();
    const whole = privateJwk.reveal();
    for (const [args, said] of [
      [['--sealing-key', JSON.stringify(whole)], /that is a private key/],
      [['--sealing-key', JSON.stringify({ ...publicJwk, y: publicJwk.x })], /that is not a public JWK/],
      [['--sealing-key', '@/nowhere/there'], /^error: \/nowhere\/there cannot be read: /],
      [[], /nothing to change/],
    ] as const) {
      const { code, out, err } = await svault('agents edit anybody', ...args);
      expect({ code, out, err }).toEqual({ code: 2, out: '', err: matching(said) });
      expect(err).not.toContain(whole.d);
    }
  });
});

test('suspend (off) and resume (on) say how it is, and do no harm twice', async () => {
  const { key } = await people.agent('sleeper', 'github');
  for (const verb of ['suspend', 'off']) {
    const err = 'sleeper is suspended: all its requests are refused until svault agents resume sleeper\n';
    expect(await svault(`agents ${verb} sleeper`)).toEqual({ code: 0, out: '', err });
    expect(await statusFor(key)).toBe(403);
  }
  for (const verb of ['resume', 'on']) {
    expect(await svault(`agents ${verb} sleeper`)).toEqual({ code: 0, out: '', err: matching(/active/) });
    expect(await statusFor(key)).toBe(200);
  }
});

test('agents rm deletes where --yes answers for a person, and the name is free', async () => {
  const id = await made('doomed');
  expect(await svault('agents rm doomed')).toMatchObject({ code: 2, out: '' });
  const err = `doomed (${id}) is deleted, with its key and its grants\n`;
  expect(await svault('agents rm doomed --yes')).toEqual({ code: 0, out: '', err });
  expect(await svault('agents show doomed')).toMatchObject({ code: 4 });
  expect(await json('agents show', id)).toMatchObject({ status: 'deleted' });
  const conflict = matching(/\[CONFLICT: svault explain CONFLICT\]\n$/);
  expect(await svault('agents resume', id)).toMatchObject({ code: 1, err: conflict });
});

test('an agent’s login may not manage agents: exit 3, before any request', async () => {
  const agent = await people.agent('climber');
  for (const line of ['agents list', 'grants list climber', 'vault status']) {
    const { code, out, err } = await agent.svault([...line.split(' '), '--debug']);
    expect({ code, out }).toEqual({ code: 3, out: '' });
    expect(err).not.toContain('> GET');
  }
});

test('lists of named things take a part of a name, and say so where nothing has it', async () => {
  await svault('agents create --name', 'Läufer_1');
  await svault('add Läufer_1 --value 0123456789abcdef0123');
  await svault('folders create --name', 'Läufer_1');
  await svault('members add läufer_1@example.org');
  await svault(
    'proxies create --name Läufer_1 --upstream-url https://mcp.example.com/mcp --service Läufer_1',
  );
  await people.admin.svault(['policies', 'apply', '-'], {
    input: 'policies: [{ name: Läufer_1, rules: [{ type: manual_approval }] }]',
  });
  for (const noun of ['agents', 'tokens', 'folders', 'policies', 'proxies'])
    expect([noun, await namesIn(`${noun} list --name LÄUFER_`)]).toEqual([noun, ['Läufer_1']]);
  expect(await namesIn('members list --name LÄUFER_')).toEqual(['läufer_1@example.org']);
  const { code, out, err } = await svault('agents list --name', 'Läufer%');
  expect({ code, out, err }).toEqual({
    code: 0,
    out: '',
    err: 'no agent has a name that contains Läufer%\n',
  });
});

test('an agent cannot search the credentials of the account', async () => {
  const agent = await people.agent('searcher');
  const { code, err } = await agent.svault(['ls', '--name', 'github']);
  expect({ code, err }).toEqual({ code: 2, err: matching(/takes an admin’s login/) });
});

test('a list says how agents are, and in the wide format everything; one agent has its grants with it', async () => {
  await svault('agents create --name visible');
  const { out } = await svault('agents list');
  expect(out).toMatch(/^NAME +STATUS +MCP +LAST USED +ID\n/);
  expect(out).toMatch(/^visible +active +off +never +agt_\S+$/m);
  const wide = await svault('agents list --format wide');
  expect(wide.out).toMatch(/^NAME +STATUS +MCP +LAST USED +ID +DESCRIPTION +KEY +SEALING KEY +CREATED\n/);
  await svault('grants add visible github');
  await svault('grants add visible npm --expires 1h30m');
  const shown = (await svault('agents show visible')).out;
  expect(shown).toMatch(/^name +visible\nstatus +active\n/);
  expect(shown).toMatch(/^grants +github: until revoked\n +npm: until \S+Z \(.+\)\npolicies +none\n$/m);
  const { id } = (await json('agents show visible')) as { id: string };
  for (const enabled of [true, false]) {
    const rules = [{ type: 'max_usage', limit: 3 }, { type: 'manual_approval' }];
    const policy = { name: enabled ? 'three times' : 'paused', enabled, rules };
    // They are listed oldest first.
    people.pair.clock.advance(1);
    const made = await people.pair.admin.call<{ id: string }>('POST', '/api/policies', policy);
    const target = { targetType: 'agent', targetId: id };
    await people.pair.admin.call('POST', `/api/policies/${made.id}/attachments`, target);
  }
  const [, policies = ''] = (await svault('agents show visible')).out.split(/^policies +/m);
  expect(policies.trimEnd().split(/\n +/).toSorted()).toEqual([
    'paused: off, max_usage, manual_approval',
    'three times: max_usage, manual_approval',
  ]);
});

describe('grants', () => {
  test('are added, listed and removed, several at once', async () => {
    await people.agent('ann');
    expect(await svault('gr add ann github npm github --refresh-policy auto')).toEqual({
      code: 0,
      out: '',
      err: 'ann may have github until it is revoked\nann may have npm until it is revoked\n',
    });
    const { out } = await svault('grants list ann');
    expect(out).toMatch(
      /^SERVICE +STATUS +ENDS +REFRESH +CREATED\ngithub +active +when revoked +auto +.+\nnpm /,
    );
    const err = 'ann may no longer have github\nann may no longer have npm\n';
    expect(await svault('grants rm ann github npm')).toEqual({ code: 0, out: '', err });
    const none = 'ann is granted nothing: svault grants add ann SERVICE\n';
    expect(await svault('grants list ann')).toEqual({ code: 0, out: '', err: none });
  });

  test.each([
    ['60m', 3_600],
    ['1h', 3_600],
    ['1d12h', 36 * 3_600],
    ['30d', 30 * 24 * 3_600],
  ])('end after --expires %s', async (text, seconds) => {
    const { id } = await people.agent(`until-${text}`);
    const [grant] = (await json(`grant ${id} github --expires ${text}`)) as unknown as [
      { createdAt: string; grantExpiresAt: string },
    ];
    expect(Date.parse(grant.grantExpiresAt) - Date.parse(grant.createdAt)).toBe(seconds * 1_000);
  });

  test.each([
    ['59m', 'outside'],
    ['721h', 'outside'],
    ['0d', 'outside'],
    ['99999d', 'is not a duration'],
    ['1', '--expires 1 has no unit'],
    ['', 'is not a duration'],
    ['1h1d', 'is not a duration'],
    ['-1h', 'is not a duration'],
    ['1.5h', 'is not a duration'],
  ])('take no --expires %s: exit 2, and nothing is asked', async (text, said) => {
    const { code, out, err } = await svault(`grants add nobody github --expires=${text} --debug`);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(said);
    expect(err).not.toContain('> GET');
  });

  test('of which some cannot be made: the others are, each is said, and the exit code is of the worst', async () => {
    await people.agent('bea', 'npm');
    const { code, out, err } = await svault('grants add bea github npm pypi --format name');
    expect({ code, out }).toEqual({ code: 1, out: 'github\npypi\n' });
    expect(err).toMatch(
      /^bea may have github .*\nerror: npm: Agent `bea` has a grant for `npm` already\. .*--renew.* \[CONFLICT: svault explain CONFLICT\]\nbea may have pypi .*\nerror: 1 of 3 failed\n$/,
    );
    expect(await namesIn('grants list bea')).toEqual(['github', 'npm', 'pypi']);
  });

  test('are renewed without a revocation, and keep what is not named', async () => {
    await people.agent('eve', 'npm');
    const [before] = (await json('grant eve github --expires 1h --refresh-policy auto')) as unknown as [
      object,
    ];
    const [after] = (await json('grant eve github --renew --expires 2d')) as unknown as [
      { createdAt: string; grantExpiresAt: string },
    ];
    expect(after).toEqual({ ...before, grantExpiresAt: after.grantExpiresAt });
    expect(await svault('grants add eve npm github --renew --expires never')).toEqual({
      code: 0,
      out: '',
      err: 'eve may have npm until it is revoked\neve may have github until it is revoked\n',
    });
    const err =
      'error: eve has no grant for pypi; one that expired was removed when the agent asked for it: svault grant eve pypi\n';
    expect(await svault('grant eve pypi --renew --expires 1h')).toEqual({ code: 4, out: '', err });
    expect(await svault('grant nobody github --renew')).toEqual({
      code: 2,
      out: '',
      err: matching(/^error: --renew needs --expires: /),
    });
  });

  test('of a name that no credential has are refused, unless --allow-missing', async () => {
    await people.agent('fay');
    expect(await svault('grant fay githb')).toEqual({
      code: 1,
      out: '',
      err: matching(
        /^error: There is no credential `githb`\. Did you mean `github`\? Run `svault add githb` .*--allow-missing/,
      ),
    });
    expect(await svault('grant fay githb --allow-missing')).toMatchObject({ code: 0 });
    expect(await svault('agents create --name gil --grants nowhere')).toMatchObject({
      code: 1,
      out: matching(/^svagent_/),
      err: matching(/There is no credential `nowhere`/),
    });
    expect(await svault('agents create --name gus --grants nowhere --allow-missing')).toMatchObject({
      code: 0,
    });
    expect(await namesIn('grants list gus')).toEqual(['nowhere']);
  });

  test('of which one is not there: it is named', async () => {
    await people.agent('cy', 'npm');
    const err = 'error: cy has no grant for github\n';
    expect(await svault('grants rm cy github')).toEqual({ code: 4, out: '', err });
    expect(await svault('grants rm cy github npm')).toMatchObject({
      code: 4,
      err: 'error: github: cy has no grant for github\ncy may no longer have npm\nerror: 1 of 2 failed\n',
    });
    expect(await namesIn('grants list cy')).toEqual(['']);
  });
});

test('the vault is locked and unlocked and says how it is; what would refuse all leaves the others alone', async () => {
  await people.agent('di');
  expect(await svault('vault status --format name')).toEqual({ code: 0, out: 'unlocked\n', err: '' });
  expect(await svault('vault lock')).toEqual({
    code: 0,
    out: '',
    err: 'the vault is locked: no credential is given out and nothing can be changed, until svault vault unlock\n',
  });
  try {
    expect((await svault('vault stat')).out).toMatch(/^state +locked\nsince +\S+Z \(.+\)\nid +vlt_/);
    expect(await svault('agents create --name late')).toMatchObject({
      code: 5,
      out: '',
      err: matching(/VAULT_LOCKED/),
    });
    expect(await svault('grants add di github npm pypi')).toMatchObject({
      code: 5,
      err: matching(/^error: github: .* \[VAULT_LOCKED: .*\]\nnot tried: npm, pypi\nerror: 1 of 3 failed\n$/),
    });
  } finally {
    const { err, out } = await svault('vault unlock --format json');
    expect(err).toBe('the vault is unlocked: agents get what they are granted\n');
    expect(JSON.parse(out)).toMatchObject({ locked: false, lockedAt: null });
  }
});

describe('a control plane that answers oddly', () => {
  const AGENT = {
    id: 'agt_1',
    name: 'ci',
    description: '',
    status: 'active',
    mcpEnabled: false,
    createdAt: '2026-11-20T12:00:00.000Z',
    lastUsedAt: null,
    keyPrefix: 'svagent_abcd…',
  };
  const BROKEN: Answer = { status: 500, body: { error: 'broken', code: 'INTERNAL_ERROR' } };
  let service: FakeServer;
  let admin: CommandLine['svault'];
  /** @param answers by method and path, with its query or without; 500 for whatever else is asked */
  async function serviceWith(answers: Readonly<Record<string, Answer>>): Promise<void> {
    service = await fakeServer(
      ({ method, path }) =>
        answers[`${method} ${path}`] ?? answers[`${method} ${path.split('?')[0]}`] ?? BROKEN,
    );
    admin = someone({ SVAULT_BASE_URL: service.url, SVAULT_KEY: newKey('svadmin') }).svault;
  }
  const page = (name: string, nextCursor?: string): Answer => ({
    body: { items: [{ ...AGENT, id: `agt_${name}`, name }], nextCursor },
  });

  test('no name is looked for where the control plane cannot say whether there is such an id', async () => {
    await serviceWith({});
    const id = newId('agt');
    expect(await admin(['agents', 'rm', id, '--yes'])).toMatchObject({ code: 1, out: '' });
    expect(service.asked()).toEqual([`GET /api/agents/${id}`]);
  });

  test('what only begins as an id is a name, and no path', async () => {
    await serviceWith({ 'GET /api/agents': page('ci') });
    expect(await admin(['agents', 'rm', 'agt_1/grants', '--yes'])).toMatchObject({ code: 4, out: '' });
    expect(service.asked()).toEqual([
      'GET /api/agents?name=agt_1%2Fgrants&limit=100',
      'GET /api/agents?limit=100',
    ]);
  });

  test('a name is found on a later page, and in every Unicode form of its letters', async () => {
    await serviceWith({
      'GET /api/agents?name=Zo%C3%AB&limit=100': page('Zo\u00eb 2', 'next?'),
      'GET /api/agents?name=Zo%C3%AB&limit=100&cursor=next%3F': page('Zoe\u0308'),
      'GET /api/agents/agt_Zoe%CC%88/grants': { body: { items: [] } },
    });
    expect(await admin(['grants', 'list', 'Zo\u00eb'])).toMatchObject({ code: 0 });
  });

  test('a list that goes round is given up', async () => {
    await serviceWith({ 'GET /api/agents': page('ci', 'a') });
    const err = matching(/^error: 127\.0\.0\.1:\d+ gives a list that does not end\n$/);
    expect(await admin(['grants', 'list', 'last'])).toEqual({ code: 1, out: '', err });
  });

  test('a list is asked for page by page, for no more than is wanted, and what is beyond is left out', async () => {
    const event = { id: 'evt_1', eventType: 'X', timestamp: '2026-11-20T12:00:00.000Z', outcome: 'success' };
    const events = (count: number, nextCursor: string): Answer => ({
      body: { items: Array(count).fill(event), nextCursor },
    });
    const path = '/api/tokens/x/history?limit=';
    await serviceWith({
      [`GET ${path}100`]: events(100, 'a'),
      [`GET ${path}100&cursor=a`]: events(100, 'b'),
      [`GET ${path}50&cursor=b`]: events(57, 'c'),
    });
    const { out } = await admin('tk history x --limit 250 --format name'.split(' '));
    expect(out.trimEnd().split('\n')).toHaveLength(250);
    expect(service.received).toHaveLength(3);
  });

  test('a key that is none is not printed', async () => {
    await serviceWith({
      'POST /api/agents': { status: 201, body: { agent: AGENT, apiKey: 'svagent_\u001b[2J' } },
    });
    expect(await admin(['agents', 'create', '--name', 'ci'])).toMatchObject({ code: 1, out: '' });
  });

  test.each(['table', 'json'])(
    '--format %s: the key is printed though a grant fails, and so is the failure',
    async (format) => {
      const apiKey = newKey('svagent');
      await serviceWith({ 'POST /api/agents': { status: 201, body: { agent: AGENT, apiKey } } });
      const args = ['agents', 'create', '--name', 'ci', '--grants', 'github', '--format', format];
      const { code, out, err } = await admin(args);
      expect({ code, err }).toEqual({ code: 1, err: matching(/error: broken/) });
      expect(out).toContain(apiKey);
    },
  );

  test('Ctrl-C leaves the rest alone, and what was done is printed', async () => {
    const interruption = new AbortController();
    const grant = {
      ...AGENT,
      serviceName: 'github',
      grantExpiresAt: null,
      refreshPolicy: '',
      sourceGroupId: null,
    };
    let posts = 0;
    service = await fakeServer(({ method }) => {
      if (method === 'GET') return { body: { items: [{ id: 'agt_1', name: 'kim' }] } };
      posts += 1;
      if (posts === 1) return { status: 201, body: grant };
      interruption.abort();
      return undefined;
    });
    const { svault: run } = someone({ SVAULT_BASE_URL: service.url, SVAULT_KEY: newKey('svadmin') });
    const args = 'grants add kim github npm pypi --format name'.split(' ');
    const err = 'kim may have github until it is revoked\n';
    expect(await run(args, { signal: interruption.signal })).toEqual({ code: 130, out: 'github\n', err });
    expect(posts).toBe(2);
  });
});
