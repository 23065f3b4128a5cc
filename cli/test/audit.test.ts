import { newKey } from '@svault/shared';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { someone } from './command-line.ts';
import { fakeServer } from './fake-servers.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
beforeAll(async () => {
  people = await pairAndPeople();
});
afterAll(() => people.close());

interface Event {
  readonly seq: number;
  readonly eventType: string;
  readonly agentId?: string;
  readonly serviceName?: string;
}

async function events(...args: readonly string[]): Promise<readonly Event[]> {
  const { code, out } = await people.admin.svault(['audit', ...args, '--json']);
  expect(code).toBe(0);
  return JSON.parse(out) as readonly Event[];
}

test('audit lists what happened, newest first, and only what its filters let through', async () => {
  const agent = await people.agent('watched', 'github', 'npm');
  await people.agent('other', 'github');
  await people.admin.svault(['agents', 'suspend', 'watched']);
  const all = await events('--agent', 'watched');
  expect(all.map(({ eventType, agentId }) => [eventType, agentId])).toEqual([
    ['AGENT_SUSPENDED', agent.id],
    ['GRANT_CREATED', agent.id],
    ['GRANT_CREATED', agent.id],
    ['AGENT_CREATED', agent.id],
  ]);
  const granted = await events('--agent', 'watched', '--type', 'grant-created', '--service', 'npm');
  expect(granted.map(({ serviceName }) => serviceName)).toEqual(['npm']);
  expect(await events('--agent', 'watched', '--limit', '1')).toEqual(all.slice(0, 1));
  expect(await events('--agent', 'watched', '--to', '2020-01-01T00:00:00Z')).toEqual([]);
});

test('audit says from where a request came, by which key, and whether the webhook delivered', async () => {
  const agent = await people.agent('courier', 'present', 'absent');
  expect((await people.admin.svault(['add', 'present'], { input: 'a secret' })).code).toBe(0);
  expect((await agent.svault(['get', 'present'])).code).toBe(0);
  expect((await agent.svault(['get', 'absent'])).code).not.toBe(0);
  const table = await people.admin.svault([
    'audit',
    '--agent',
    'courier',
    '--channel',
    'rest',
    '--limit',
    '2',
  ]);
  expect(table.out).toMatch(
    /failed NOT_FOUND\s+absent\s+courier\s+127\.0\.0\.1 rest[^]*success\s+present\s+courier\s+127\.0\.0\.1 rest/,
  );
  const { out } = await people.admin.svault(['audit', '--agent', 'courier', '--limit', '1', '--json']);
  const [{ origin }] = JSON.parse(out) as [{ origin: Record<string, string> }];
  expect(origin['authenticatedBy']).toBe(`${agent.key.slice(0, 12)}…`);
  const wide = ['audit', '--request', origin['requestId']!, '--format', 'wide'];
  expect((await people.admin.svault(wide)).out).toMatch(/^[^]*courier[^]*req_[^]*svagent_[^]*svault\//);
  for (const filter of [
    ['--address', '192.0.2.1'],
    ['--outcome', 'denied'],
    ['--channel', 'mcp'],
  ])
    expect(await events('--agent', 'courier', ...filter)).toEqual([]);
});

test('audit show prints one event with all that the log has of it', async () => {
  const agent = await people.agent('denied one');
  await agent.svault(['get', 'never-granted']);
  const [event] = await events('--agent', 'denied one', '--limit', '1');
  const number = String(event?.seq);
  const { code, out } = await people.admin.svault(['audit', 'show', number]);
  expect(code).toBe(0);
  expect(out).toMatch(/^outcome +denied$/m);
  expect(out).toMatch(/^detail +code: NO_GRANT/m);
  expect(out).toMatch(new RegExp(`^number +${number}$`, 'm'));
  expect(await events('show', number)).toEqual(event);
});

test.each([
  ['999999', 4, 'there is no event 999999 in the log: svault audit --format wide lists the newest'],
  ['evt_1', 2, '“evt_1” is not the number of an event: svault audit --format wide lists them'],
  ['1/../../agents', 2, 'is not the number of an event'],
])('audit show %s fails with a sentence', async (number, code, said) => {
  const outcome = await people.admin.svault(['audit', 'show', number]);
  expect(outcome).toMatchObject({ code, out: '' });
  expect(outcome.err).toContain(said);
});

test('audit names who acted, what it was done to and each detail in plain words', async () => {
  const row = async (...args: readonly string[]): Promise<Readonly<Record<string, string>>> => {
    const { out } = await people.admin.svault(['audit', ...args, '--limit', '1', '--format', 'wide']);
    const [head = '', line = ''] = out.split('\n');
    const starts = [...head.matchAll(/\S+(?: \S+)*/g)].map(({ 0: title, index }) => [title, index] as const);
    return Object.fromEntries(
      starts.map(([title, from], at) => [title, line.slice(from, starts[at + 1]?.[1]).trim()]),
    );
  };
  const agent = await people.agent('actor', 'github');
  await agent.svault(['get', 'github']);
  expect(await row('--agent', 'actor')).toMatchObject({ BY: 'actor', ON: '' });
  const { code } = await people.admin.svault(['agents', 'edit', 'actor', '--mcp', '--description', 'x']);
  expect(code).toBe(0);
  const key = await people.admin.svault(['admin-keys', 'list', '--format', 'name']);
  expect(await row('--agent', 'actor')).toMatchObject({
    WHAT: 'AGENT_UPDATED',
    BY: `admin key (${key.out.trim()})`,
    ON: 'actor',
    DETAIL: 'members: description, mcpEnabled',
  });
  const proxy = [
    'proxies',
    'create',
    '--name',
    'px',
    '--upstream-url',
    'https://m.example/',
    '--service',
    'github',
  ];
  const { out } = await people.admin.svault([...proxy, '--allow-missing', '--json']);
  expect(await row('--proxy', 'px')).toMatchObject({
    WHAT: 'PROXY_CREATED',
    BY: `admin key (${key.out.trim()})`,
    ON: 'px',
  });
  const authorization = `Bearer ${(JSON.parse(out) as { key: string }).key}`;
  await fetch(`${people.pair.controlPlaneUrl()}/api/proxy/mcp`, {
    method: 'POST',
    headers: {
      authorization,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
  expect(await row('--proxy', 'px')).toMatchObject({ WHAT: 'PROXY_CREDENTIAL_USE', BY: 'px', ON: '' });
});

test('audit names the member who was signed in, and svault itself is nobody', async () => {
  const event = { id: 'evt_1', timestamp: '2026-11-20T12:00:00.000Z', outcome: 'success' };
  const { url } = await fakeServer(() => ({
    body: {
      items: [
        { ...event, seq: 2, eventType: 'VAULT_LOCKED', userId: 'usr_1', userEmail: 'ada@example.org' },
        { ...event, seq: 1, eventType: 'GRANT_EXPIRED', agentId: 'agt_1', agentName: 'ci' },
      ],
    },
  }));
  const { out } = await someone({ SVAULT_BASE_URL: url, SVAULT_KEY: newKey('svadmin') }).svault(['audit']);
  expect(out).toMatch(/VAULT_LOCKED +success +ada@example\.org *\n/);
  expect(out).toMatch(/GRANT_EXPIRED +success +ci *\n/);
});

test('audit says of a proxied call that it was not delivered, and of an agent’s ticket alone that nobody fetched it', async () => {
  const event = { id: 'evt_1', timestamp: '2026-11-20T12:00:00.000Z', outcome: 'success' };
  const both = (seq: number, delivery: object) => [
    { ...event, seq: seq + 1, eventType: 'PROXY_CREDENTIAL_USE', proxyName: 'px', delivery },
    { ...event, seq, eventType: 'AGENT_CREDENTIAL_ACCESS', agentName: 'ci', delivery },
  ];
  const deliveries = [{ status: 'pending' }, { status: 'unknown' }, { status: 'failed', code: 'X' }];
  const items = deliveries.flatMap((delivery, at) => both(2 * at, delivery));
  const { url } = await fakeServer(() => ({ body: { items } }));
  const { out } = await someone({ SVAULT_BASE_URL: url, SVAULT_KEY: newKey('svadmin') }).svault(['audit']);
  const outcomes = [...out.matchAll(/_(?:USE|ACCESS) +(\S.*?) +(px|ci)/g)].map(([, said, by]) => [by, said]);
  expect(outcomes).toEqual([
    ['px', 'not delivered yet'],
    ['ci', 'not fetched yet'],
    ['px', 'delivery unknown'],
    ['ci', 'allowed, delivery unknown'],
    ['px', 'failed X'],
    ['ci', 'failed X'],
  ]);
});

test.each([
  [['--limit', '0'], /--limit takes a whole number/],
  [['--from', 'yesterday'], /--from takes a time as 2026-11-20T12:00:00Z, or how long ago as 90m, 24h or 7d/],
  [['--follow', '--to', '1h'], /--follow goes on until Ctrl-C/],
])('audit %j is refused: exit 2', async (args, said) => {
  const { code, err } = await people.admin.svault(['audit', ...args]);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(said) as string });
});

test('audit --follow prints each new event once, oldest first, until Ctrl-C', async () => {
  const stop = new AbortController();
  let answered = 0;
  let last = Infinity;
  // The first request shows what there is.
  const lockOnce = async (): Promise<void> => {
    for (const verb of ['lock', 'unlock']) await people.admin.svault(['vault', verb]);
    // One request may be under way; the next shows what is new, and has been printed before the one behind it.
    last = answered + 3;
  };
  let locked: Promise<void> | undefined;
  const onErr = (said: string): void => {
    answered = said.match(/^< 200/gm)?.length ?? 0;
    if (answered > 0) locked ??= lockOnce();
    if (answered >= last) stop.abort();
  };
  const args = ['audit', '--follow', '--json', '--debug'];
  const { code, out } = await people.admin.svault(args, { onErr, signal: stop.signal });
  await locked;
  const seen = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
  expect(code).toBe(130);
  const numbers = seen.map(({ seq }) => seq);
  expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other));
  expect(seen.slice(-2).map(({ eventType }) => eventType)).toEqual(['VAULT_LOCKED', 'VAULT_UNLOCKED']);
});

test('audit verify says that the log is intact, and where it is not: exit 8', async () => {
  const { code, err } = await people.admin.svault(['audit', 'verify']);
  expect({ code, err }).toEqual({
    code: 0,
    err: expect.stringMatching(
      /^the log is intact: \d+ events; the last, number \d+, has the hash \S+\n$/,
    ) as string,
  });
  const { url } = await fakeServer(() => ({ body: { intact: false, seq: 3, problem: 'changed' } }));
  const owner = someone({ SVAULT_BASE_URL: url, SVAULT_KEY: newKey('svadmin') });
  expect(await owner.svault(['audit', 'verify'])).toEqual({
    code: 8,
    out: '',
    err: expect.stringMatching(/^error: the log is not what was written: event 3 is changed; /) as string,
  });
});
