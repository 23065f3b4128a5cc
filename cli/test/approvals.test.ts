import { newKey } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CommandLine, someone } from './command-line.ts';
import { type Received, fakeServer } from './fake-servers.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
let svault: PairAndPeople['admin']['svault'];
const SECRET = 'a secret that is long enough';

beforeAll(async () => {
  people = await pairAndPeople();
  ({ svault } = people.admin);
  for (const name of ['github', 'npm']) await svault(['add', name, '--value', SECRET]);
  const held = 'name: held\nrules: [{ type: manual_approval, uses: 2, expiresInSeconds: 600 }]';
  await svault(['policies', 'apply', '-'], { input: held });
});
afterAll(() => people.close());

/** An agent whose requests a policy holds back. */
async function heldBack(name: string): Promise<CommandLine> {
  const agent = await people.agent(name, 'github', 'npm');
  await svault(['policies', 'attach', 'held', '--agent', name]);
  return agent;
}
const get = (agent: CommandLine, ...more: readonly string[]) => agent.svault(['get', 'github', ...more]);
/** @param err what a denied `get` said */
const linkIn = (err: string): string => /https?:\S+\/approvals\/apr_[\w-]+/.exec(err)?.[0] ?? '';

describe('what a policy holds back', () => {
  test('is denied with the link, passes as often as was approved, and is denied once more when that is taken back', async () => {
    const agent = await heldBack('ci');
    const denied = await get(agent);
    expect(denied).toMatchObject({ code: 3, out: '' });
    const link = linkIn(denied.err);
    const { out: listed } = await svault(['approvals']);
    const id = link.slice(link.lastIndexOf('/') + 1);
    expect(listed).toMatch(new RegExp(`^${id} +pending +ci +github +the credential +in 1\\d min +`, 'm'));
    const approved = await svault(['approvals', 'approve', link]);
    expect(approved).toMatchObject({ code: 0, out: '' });
    expect(approved.err).toMatch(/^approved: ci may have github 2 times until 20\S+Z\n$/);
    expect(await get(agent)).toEqual({ code: 0, out: SECRET, err: '' });
    expect((await svault(['approvals', 'show', id])).out).toMatch(/^used {2,}1 of 2$/m);
    const taken = await svault(['approvals', 'deny', id, '--json']);
    expect(JSON.parse(taken.out)).toMatchObject({ id, status: 'denied' });
    expect((await get(agent)).err).toContain(`denied by a person: ${link}`);
    expect((await svault(['approvals', 'list', '--format', 'name'])).out).not.toContain(id);
    expect((await svault(['approvals', 'list', '--all', '--format', 'name'])).out).toContain(id);
  });

  test('get --wait says where it is decided, and prints the credential once it is', async () => {
    const agent = await heldBack('patient');
    let decided: Promise<unknown> | undefined;
    const onErr = (said: string): void => {
      const link = linkIn(said);
      if (link !== '') decided ??= svault(['approvals', 'approve', link]);
    };
    const got = await agent.svault(['get', 'github', '--wait', '20'], { onErr });
    await decided;
    expect(got).toMatchObject({ code: 0, out: SECRET });
    expect(got.err).toMatch(/^github waits for an approval: http\S+\n$/);
  });
});

test.each([
  ['nonsense', 'nonsense is no id of an approval (apr_…) and no link to one'],
  ['https://a.example/agents/agt_1', 'is no id of an approval'],
])('an approval called %s is refused before anything is sent', async (reference, said) => {
  const { code, err } = await svault(['approvals', 'show', reference, '--debug']);
  expect(code).toBe(2);
  expect(err).toContain(said);
  expect(err).not.toContain('> GET');
});

test('an unknown approval is not found, and a link to one may be a webhook’s', async () => {
  const id = 'apr_3kTMd8Q2sWv0bXh1pZ9aRg';
  const unknown = await svault(['approvals', 'deny', id]);
  expect(unknown).toMatchObject({ code: 4, out: '' });
  expect(unknown.err).toContain(`there is no approval ${id}`);
  const ofWebhook = await svault(['approvals', 'approve', `https://hook.example/approvals/${id}`]);
  expect(ofWebhook.code).toBe(4);
  expect(ofWebhook.err).toContain('in a browser, or by svault approve https://hook.example/approvals/');
});

describe('what a control plane says is shown as text', () => {
  const HOSTILE = {
    id: 'apr_3kTMd8Q2sWv0bXh1pZ9aRg',
    ...{ kind: 'passkey', status: 'pending', agentId: 'agt_1', callerName: 'ci\u001b[2J\u202eevil' },
    serviceName: 'github',
    request: { method: 'POST', url: 'https://api.example/x', tool: 'pay', digest: 'AAAA' },
    reason: `please\nstatus  approved\u001b]0;x\u0007\u202e`,
    ...{ askedAt: '2026-11-20T12:00:00.000Z', expiresAt: '2026-11-20T12:15:00.000Z' },
    ...{ uses: 1, used: 0, url: 'https://hook.example/approvals/apr_x' },
  };
  const ask = async (...args: readonly string[]) => {
    const { url } = await fakeServer(({ method }) =>
      method === 'POST'
        ? {
            status: 409,
            body: { error: `This one is decided with a passkey: ${HOSTILE.url}`, code: 'CONFLICT' },
          }
        : { body: HOSTILE },
    );
    const env = { SVAULT_BASE_URL: url, SVAULT_KEY: newKey('svadmin') };
    return someone().svault(args, { env });
  };

  test('show keeps the agent’s words on one line, in quotation marks', async () => {
    const { out } = await ask('approvals', 'show', HOSTILE.id);
    expect(out).toContain('“please status  approved ]0;x ”\n');
    expect(out.match(/^status/gm)).toHaveLength(1);
    expect(out).toMatch(/^wants +tool pay at https:\/\/api\.example\/x$/m);
    expect(out).toMatch(/^is decided +at the webhook, with a passkey$/m);
    expect(out).toMatch(/^open +https:\/\/hook\.example\/approvals\/apr_x$/m);
    expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  test('approve of one for a passkey fails with where it is decided', async () => {
    const { code, err } = await ask('approvals', 'approve', HOSTILE.id);
    expect(code).toBe(1);
    expect(err).toContain('decided with a passkey: https://hook.example/approvals/apr_x');
  });
});

describe('get --wait', () => {
  const URL_OF_IT = 'https://hook.example/approvals/apr_x';
  /** What a control plane with this approval is asked. */
  async function asked(status: string, args: readonly string[]) {
    const approval = { id: 'apr_x', status, url: URL_OF_IT, expiresAt: '' };
    const body = { error: 'Approve it first.', code: 'APPROVAL_REQUIRED', approval };
    const { url, received } = await fakeServer(() => ({ status: 403, body }));
    const env = { SVAULT_BASE_URL: url, SVAULT_KEY: newKey('svagent') };
    const outcome = await someone().svault(['get', 'github', ...args], { env });
    const waits = received.map(({ path }: Received) => new URLSearchParams(path.split('?')[1]).get('wait'));
    return { ...outcome, waits, received };
  }

  test('ends with the denial when the seconds are over, and does not ask a service that cannot wait at each moment', async () => {
    const { code, out, err, waits } = await asked('pending', ['--wait', '1']);
    expect({ code, out }).toEqual({ code: 3, out: '' });
    expect(waits).toEqual(['0', '1', '1']);
    expect(err).toBe(
      `github waits for an approval: ${URL_OF_IT}\nerror: Approve it first. (a person decides at ${URL_OF_IT}) [APPROVAL_REQUIRED: svault explain APPROVAL_REQUIRED]\n`,
    );
  });

  test('ends at once where the request was denied', async () => {
    const { code, err, waits } = await asked('denied', ['--wait', '60']);
    expect({ code, waits }).toEqual({ code: 3, waits: ['0'] });
    expect(err).toContain(`denied by a person: ${URL_OF_IT}`);
  });

  test('without it the reason alone is sent, as it was typed', async () => {
    const { received } = await asked('pending', ['--reason', 'Größe & Co']);
    expect(received.map(({ path }) => path)).toEqual([
      '/api/agents/credentials?service=github&redirect=true&reason=Gr%C3%B6%C3%9Fe%20%26%20Co',
    ]);
  });

  test.each([
    [['--wait', '0'], '--wait takes seconds, from 1 to 3600'],
    [['--wait', '5m'], '--wait takes seconds'],
    [['--reason', ' '], '--reason takes 1 to 500 characters'],
    [['--reason', 'x'.repeat(501)], '--reason takes 1 to 500 characters'],
  ])('%j is refused', async (args, said) => {
    const { code, err, received } = await asked('pending', args);
    expect({ code, received }).toEqual({ code: 2, received: [] });
    expect(err).toContain(said);
  });
});

describe('a credential that a passkey has to approve', () => {
  const run = (...args: readonly string[]) => svault(args, { input: SECRET });
  const held = async (name: string): Promise<unknown> =>
    (JSON.parse((await svault(['show', name, '--json'])).out) as { webhook: { approval?: unknown } }).webhook
      .approval;
  const APPROVAL = ['--require-approval', 'proxy,credential', '--standing', '1h30m'];

  test('is stored with that, shown with it, and keeps it when its secret is replaced', async () => {
    expect(await run('add', 'db', ...APPROVAL)).toMatchObject({ code: 0 });
    const setting = { by: 'passkey', for: ['credential', 'proxy'], standingSeconds: 5_400 };
    expect(await held('db')).toEqual(setting);
    const { out } = await svault(['show', 'db']);
    expect(out).toMatch(/^approval +credential, proxy; standing up to 1h30m$/m);
    const bare = await run('set', 'db');
    expect(bare.code).toBe(2);
    expect(bare.err).toContain(': svault set db --require-approval credential,proxy --standing 1h30m\n');
    const replaced = await run('set', 'db', '--require-approval', 'credential');
    expect(replaced.err).toContain('replaces: --require-approval credential,proxy --standing 1h30m\n');
    expect(await held('db')).toEqual({ by: 'passkey', for: ['credential'] });
    expect(await run('set', 'db', '--require-approval', 'none')).toMatchObject({ code: 0 });
    expect(await held('db')).toBeUndefined();
  });

  test('warns of an MCP server, whose every message would need one', async () => {
    const proxied = ['--allow-host', 'mcp.example', '--require-approval', 'proxy'];
    const { err } = await run('add', 'mcp', ...proxied);
    expect(err).toContain("--allow-request 'mcp * /mcp'");
    const ruled = await run('add', 'mcp-ruled', ...proxied, '--allow-request', 'mcp * /mcp');
    expect(ruled).toMatchObject({ code: 0 });
    expect(ruled.err).not.toContain('each message');
  });

  test.each([
    [['--require-approval', 'store'], '--require-approval takes credential, proxy or credential,proxy'],
    [['--require-approval', 'proxy,proxy'], '--require-approval takes'],
    [['--standing', '1h'], '--standing is about approvals'],
    [['--require-approval', 'proxy', '--standing', '9h'], '--standing takes a duration from 1m to 8h'],
    [['--require-approval', 'proxy', '--standing', '30'], '--standing takes a duration'],
  ])('%j is refused before a secret is read', async (args, said) => {
    const { code, err } = await run('add', 'refused', ...args);
    expect(code).toBe(2);
    expect(err).toContain(said);
  });
});
