import { type TokenEndpoint, startTokenEndpoint } from '@svault/test-kit/token-endpoint';
import { createSealingKey } from '@svault/shared/sealed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
let svault: PairAndPeople['admin']['svault'];
let provider: TokenEndpoint;

beforeAll(async () => {
  provider = await startTokenEndpoint();
  provider.register({ id: 'c1', method: 'none' });
  people = await pairAndPeople();
  ({ svault } = people.admin);
});
afterAll(async () => {
  await people.close();
  await provider.close();
});

const add = async (name: string, ...args: readonly string[]): Promise<void> => {
  expect(await svault(['add', name, ...args], { input: `secret of ${name}` })).toMatchObject({ code: 0 });
};
/** What of it these tests look at by themselves. */
interface Json {
  readonly webhook: object;
  readonly url: string;
  readonly ticket: string;
}
const json = async (...args: readonly string[]): Promise<Json> =>
  JSON.parse((await svault([...args, '--format', 'json'])).out) as Json;

describe('set', () => {
  test('replaces the secret, and keeps its type', async () => {
    await add('rotated', '--type', 'RawCredential');
    const { code, out, err } = await svault(['set', 'rotated'], { input: 'the new one' });
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(err).toMatch(/^rotated is stored at 127\.0\.0\.1:\d+ as version 2\n$/);
    expect(await json('get', 'rotated')).toMatchObject({
      accessToken: 'the new one',
      tokenType: 'RawCredential',
    });
  });

  test('keeps the type that the webhook holds, where the control plane goes on saying another', async () => {
    await add('retyped');
    const { err } = await svault(['set', 'retyped', '--type', 'RawCredential'], { input: 'second' });
    expect(err).toContain('the control plane goes on calling retyped a PlainText');
    await svault(['set', 'retyped'], { input: 'third' });
    expect(await json('get', 'retyped')).toMatchObject({ accessToken: 'third', tokenType: 'RawCredential' });
  });

  test('of what the webhook would refuse is refused before a ticket is asked for', async () => {
    await add('kept-as-it-was');
    const args = ['set', 'kept-as-it-was', '--allow-host', 'no host'];
    const { code, out, err } = await svault(args, { input: 'x' });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^error: `--allow-host` must be host[^\n]*\n$/);
    expect(await svault(['get', 'kept-as-it-was'])).toMatchObject({ out: 'secret of kept-as-it-was' });
  });

  test('fills what was only named', async () => {
    const named = await svault(['add', 'later', '--empty', '--format', 'name']);
    const err = 'later is created without a secret: svault set later stores it\n';
    expect(named).toEqual({ code: 0, out: 'later\n', err });
    expect(await svault(['get', '--check', 'later'])).toMatchObject({ code: 4, out: '' });
    expect(await json('tokens', 'up', 'later', '--value', 'x')).toEqual({ serviceName: 'later', version: 1 });
    expect(await svault(['get', 'later'])).toMatchObject({ code: 0, out: 'x' });
  });

  test('a name that there is not: says how to make it', async () => {
    const { code, err } = await svault(['set', 'nobody'], { input: 'x' });
    expect(code).toBe(4);
    expect(err).toMatch(/there is no credential nobody: svault ls/);
  });

  describe('of what is restricted', () => {
    const restricted = async (name: string): Promise<void> => {
      const strict = [
        '--delivery',
        'proxy-only',
        '--allow-host',
        'https://a.example/',
        '--allow-host',
        'b.example',
      ];
      await add(name, ...strict, '--allow-header', 'x-key');
    };
    const LONG = 'a secret that is long enough';
    const held = async (name: string): Promise<unknown> => (await json('show', name)).webhook;

    test('is refused with the one command line that keeps all restrictions, and that line does', async () => {
      await restricted('strict one');
      const { code, out, err } = await svault([
        'set',
        'strict one',
        '--value',
        'hunter2',
        '--type',
        'PlainText',
      ]);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      const flags =
        '--delivery proxy-only --allow-host a.example --allow-host b.example --allow-header x-key';
      expect(err).toBe(
        `error: the restrictions of strict one are sealed with its secret, so a new secret needs them again: svault set 'strict one' --type PlainText ${flags}\n`,
      );
      expect(await held('strict one')).toMatchObject({ version: 1 });
      const again = ['set', 'strict one', '--type', 'PlainText', ...flags.split(' ')];
      expect(await svault(again, { input: LONG })).toMatchObject({ code: 0 });
      expect(await held('strict one')).toMatchObject({
        version: 2,
        delivery: 'proxy-only',
        allowedHosts: ['a.example', 'b.example'],
        allowedHeaders: ['x-key'],
      });
    });

    test('needs only those that the command line does not say', async () => {
      await restricted('strict half');
      const { err } = await svault(['set', 'strict half', '--allow-host', 'c.example'], { input: 'new' });
      expect(err).toMatch(
        /: svault set 'strict half' --allow-host c\.example --delivery proxy-only --allow-header x-key\n$/,
      );
      expect(err).toContain(
        'replaces: a.example, b.example (to keep: --allow-host a.example --allow-host b.example)\n',
      );
      const added = ['--allow-host', 'b.example', '--allow-host', 'a.example', '--allow-host', 'c.example'];
      expect((await svault(['set', 'strict half', ...added], { input: 'new' })).err).not.toContain(
        'replaces',
      );
      const said = ['--delivery', 'any', '--allow-host', 'none'];
      expect(await svault(['set', 'strict half', ...said], { input: LONG })).toMatchObject({ code: 0 });
      expect(await held('strict half')).toMatchObject({ version: 2, delivery: 'any', allowedHosts: [] });
    });

    test('names files for what only its owner has: recipients and the secrets of a refresh', async () => {
      const jwt = ['--type', 'JWT', '--field', 'provider.tokenUrl=https://login.example/t'];
      await add('with-provider', ...jwt, '--field', 'provider.clientId=c1', '--field', 'refreshToken=r');
      const silent = await svault(['set', 'with-provider'], { input: 'new', isPerson: true });
      expect(silent.code).toBe(2);
      expect(silent.err).toMatch(
        / --field provider\.tokenUrl=https:\/\/login\.example\/t --field provider\.clientId=c1 .*--field refreshToken=@FILE\n$/,
      );
      const said = await svault(['set', 'with-provider', '--field', 'provider=none'], { input: 'new' });
      expect(said).toMatchObject({ code: 0 });
      await add('for-one', '--recipient', JSON.stringify(createSealingKey().publicJwk));
      expect((await json('show', 'for-one')).webhook).toMatchObject({ delivery: 'sealed' });
      expect(await svault(['set', 'for-one'], { input: 'new', isPerson: true })).toMatchObject({
        code: 2,
        err: expect.stringMatching(/svault set for-one --delivery sealed --recipient @FILE\n$/),
      });
    });
  });

  test('a host may be an address to copy, without a path', async () => {
    await add('copied', '--allow-host', 'https://API.example:443/', '--allow-host', 'HTTP://b.example:8080');
    expect((await json('show', 'copied')).webhook).toMatchObject({
      allowedHosts: ['api.example', 'http://b.example:8080'],
    });
    const path = ['set', 'copied', '--allow-host', 'https://api.example/mcp'];
    expect(await svault(path, { input: 'new' })).toMatchObject({
      code: 2,
      err: 'error: --allow-host takes a host and no path: write api.example\n',
    });
  });

  test('--if-version replaces that version and no other', async () => {
    await add('versions');
    const other = await svault(['set', 'versions', '--if-version', '7'], { input: 'x' });
    const err = expect.stringMatching(/nothing is changed.*VERSION_CONFLICT/) as string;
    expect(other).toMatchObject({ code: 1, err });
    for (const [version, code] of [
      ['1', 0],
      ['one', 2],
    ] as const)
      expect(await svault(['set', 'versions', '--if-version', version], { input: 'x' })).toMatchObject({
        code,
      });
  });

  test('a host that is any host is warned of, and wherever it is listed', async () => {
    const input = 'a secret for anywhere';
    const added = await svault(['add', 'anywhere', '--allow-host', '*'], { input });
    expect(added.err).toMatch(/^warning: with \* .*any host on the internet\n/);
    expect((await svault(['ls'])).err).toMatch(/warning: .*any host on the internet: anywhere\n/);
    expect((await svault(['show', 'anywhere'])).err).toMatch(/warning: .*any host/);
  });
});

describe('list and show', () => {
  test('name the members of a record, and show no secret', async () => {
    await add('listed', '--name', 'Listed one', '--tags', 'a,b', '--notes', 'two\nlines');
    const table = await svault(['tokens', 'list']);
    expect(table.out).toMatch(/^NAME +TYPE +SECRET +/);
    expect(table.out).toMatch(/\nlisted +PlainText +stored +any +a, b\n/);
    expect((await svault(['ls', '--format', 'name'])).out.split('\n')).toContain('listed');
    expect(await json('tk', 'list')).toContainEqual(
      expect.objectContaining({ serviceName: 'listed', tags: ['a', 'b'] }),
    );
    const shown = await svault(['tokens', 'info', 'listed']);
    expect(shown.out).toMatch(/\nnotes +two\n +lines\n/);
    for (const { out } of [table, shown]) expect(out).not.toContain('secret of');
  });

  test('as an agent: what it is granted', async () => {
    await add('granted');
    const agent = await people.agent('lister', 'granted');
    const list = await agent.svault(['ls']);
    expect(list).toMatchObject({ code: 0, err: '' });
    expect(list.out).toMatch(/\ngranted +until revoked +none\n/);
    const one = await agent.svault(['show', 'granted', '--format', 'json']);
    expect(JSON.parse(one.out)).toMatchObject({ serviceName: 'granted', grantExpiresAt: null });
    expect(await agent.svault(['show', 'listed'])).toMatchObject({ code: 4, out: '' });
    const none = await people.agent('nothing-granted');
    const err = 'nothing is granted to this agent\n';
    expect(await none.svault(['ls'])).toEqual({ code: 0, out: '', err });
  });
});

describe('get as an agent', () => {
  test('get sends the key to the control plane alone, and fetches the secret from the webhook', async () => {
    await add('for-agents');
    const agent = await people.agent('getter', 'for-agents');
    const before = people.pair.recorded().length;
    expect(await agent.svault(['get', 'for-agents'])).toMatchObject({ code: 0, out: 'secret of for-agents' });
    const seen = people.pair.recorded().subarray(before).toString('latin1');
    expect(seen).toContain('GET /v1/credential?ticket=');
    expect(seen).not.toContain(agent.key.slice(8));
    expect(seen).not.toMatch(/\n(?:authorization|cookie|x-agent-key|referer):/i);
  });

  test('is refused with the control plane’s code', async () => {
    await add('not-granted');
    const agent = await people.agent('refused', 'for-agents');
    const { code, out, err } = await agent.svault(['get', 'not-granted']);
    expect({ code, out }).toEqual({ code: 4, out: '' });
    expect(err).toMatch(/^error: .*\[NO_GRANT: svault explain NO_GRANT\]\n$/);
    await people.pair.admin.call('POST', `/api/agents/${agent.id}/suspend`);
    expect(await agent.svault(['get', 'for-agents'])).toMatchObject({ code: 3, out: '' });
  });

  test('and takes nothing that is an admin’s', async () => {
    const agent = await people.agent('no-admin', 'for-agents');
    for (const args of [
      ['set', 'for-agents'],
      ['rm', 'for-agents', '--yes'],
      ['add', 'x'],
      ['tokens', 'edit', 'for-agents', '--notes', 'x'],
      ['tokens', 'history', 'for-agents'],
      ['tokens', 'refresh', 'for-agents'],
      ['tokens', 'store-ticket', 'for-agents'],
    ])
      expect(await agent.svault(args, { input: 'x' })).toMatchObject({ code: 3, out: '' });
  });
});

describe('get --check', () => {
  // spec: 6 | tokens get --check found an empty token.
  test('0 with a value, 6 without, 4 where there is none, and never the value', async () => {
    await add('checked');
    expect((await svault(['add', 'blank', '--body', '-'], { input: '{"value":""}' })).code).toBe(0);
    const agent = await people.agent('checker', 'checked', 'blank', 'unheard-of');
    for (const who of [people.admin, agent]) {
      const err = 'checked has a value\n';
      expect(await who.svault(['get', '--check', 'checked'])).toEqual({ code: 0, out: '', err });
      expect(await who.svault(['tokens', 'get', 'blank', '--check'])).toMatchObject({ code: 6, out: '' });
      expect(await who.svault(['get', '--check', 'unheard-of'])).toMatchObject({ code: 4, out: '' });
    }
    expect(await json('get', '--check', 'checked')).toEqual({ serviceName: 'checked', empty: false });
    expect(await json('get', '--check', 'blank')).toEqual({ serviceName: 'blank', empty: true });
    expect(await agent.svault(['get', 'blank'])).toMatchObject({ code: 1, out: '' });
  });

  test('an admin’s fetches nothing', async () => {
    await add('unfetched');
    const before = people.pair.recorded().length;
    expect(await svault(['get', '--check', 'unfetched'])).toMatchObject({ code: 0 });
    expect(people.pair.recorded().subarray(before).toString('latin1')).not.toContain('/v1/credential');
  });

  test('another 422 is no emptiness: a token that has to be authorised anew', async () => {
    const fields = ['--field', `provider.tokenUrl=${provider.url}`, '--field', 'provider.clientId=c1'];
    const expired = ['--expires-at', '2020-01-01T00:00:00Z', '--field', 'refreshToken=spent'];
    await add('spent', '--type', 'JWT', ...fields, ...expired);
    const agent = await people.agent('too-late', 'spent');
    const err = expect.stringContaining('REAUTH_NEEDED') as string;
    expect(await agent.svault(['get', '--check', 'spent'])).toEqual({ code: 1, out: '', err });
  });

  test('excludes what prints something else', async () => {
    expect(await svault(['get', 'checked', '--check', '--field', 'x'])).toMatchObject({ code: 2 });
  });
});

describe('edit, history and store-ticket', () => {
  test('edit changes only the members that are given', async () => {
    await add('edited', '--name', 'One', '--notes', 'n', '--tags', 'a');
    const { code, out, err } = await svault(['tokens', 'edit', 'edited', '--name', 'Two', '--tags', '']);
    expect({ code, out, err }).toEqual({ code: 0, out: '', err: 'edited is updated: display name, tags\n' });
    expect(await json('show', 'edited')).toMatchObject({ displayName: 'Two', notes: 'n', tags: [] });
    expect(await svault(['tokens', 'edit', 'edited'])).toMatchObject({ code: 2 });
    expect(await svault(['tokens', 'edit', 'nobody', '--name', 'x'])).toMatchObject({ code: 4 });
    const wrong = await svault(['tokens', 'edit', 'edited', '--name', 'two\nlines']);
    expect(wrong).toMatchObject({ code: 1, err: expect.stringMatching(/^error: `--name` must be one line/) });
  });

  test('history lists newest first, to its limit', async () => {
    await add('with-history');
    await svault(['get', 'with-history']);
    const { out } = await svault(['tokens', 'history', 'with-history']);
    expect(out).toMatch(/^WHEN +WHAT +OUTCOME +BY\n.*OWNER_CREDENTIAL_ACCESS +success/);
    expect(await json('tokens', 'history', 'with-history', '--limit', '2')).toHaveLength(2);
    expect(await svault(['tokens', 'history', 'with-history', '--limit', '0'])).toMatchObject({ code: 2 });
    expect(await svault(['tokens', 'history', 'nobody'])).toMatchObject({ code: 4 });
  });

  test('the holder of a store-ticket can store once', async () => {
    await add('by-others');
    const { url, ticket } = await json('tokens', 'store-ticket', 'by-others', '--if-version', '1');
    const store = (): Promise<Response> =>
      fetch(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' },
        body: JSON.stringify({ tokenType: 'PlainText', value: 'by curl' }),
      });
    expect((await store()).status).toBe(200);
    expect((await store()).status).toBe(401);
    expect((await svault(['get', 'by-others'])).out).toBe('by curl');
    const { out } = await svault(['tokens', 'store-ticket', 'by-others', '--format', 'name']);
    expect(out).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  });
});

describe('refresh', () => {
  test('says what came of it', async () => {
    const { refreshToken } = provider.grant('c1');
    const fields = ['--field', `provider.tokenUrl=${provider.url}`, '--field', 'provider.clientId=c1'];
    await add('refreshed', '--type', 'JWT', ...fields, '--field', `refreshToken=${refreshToken}`);
    const { code, err } = await svault(['tokens', 'refresh', 'refreshed']);
    expect({ code, err }).toEqual({ code: 0, err: expect.stringMatching(/^refreshed is refreshed/) });
    expect(provider.gave((await svault(['get', 'refreshed'])).out)).toBe(true);
    await add('unrefreshable');
    const no = await svault(['tokens', 'refresh', 'unrefreshable', '--format', 'json']);
    expect(no).toMatchObject({ code: 1, err: expect.stringMatching(/cannot be refreshed/) });
    expect(JSON.parse(no.out)).toEqual({ outcome: 'not_refreshable' });
    expect(await svault(['tokens', 'refresh', 'nobody'])).toMatchObject({ code: 4 });
  });
});

describe('rm', () => {
  test('deletes several tokens, where the failure of one stops none and decides the exit code', async () => {
    await add('gone-1');
    await add('gone-2');
    const asked = await svault(['rm', 'gone-1']);
    expect(asked).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
    const { code, out, err } = await svault(['tokens', 'rm', '--yes', 'gone-1', 'nobody', 'gone-2']);
    expect({ code, out }).toEqual({ code: 4, out: '' });
    expect(err).toMatch(/gone-1 is deleted; its record .* too, .*\n.*nobody.*\n.*gone-2 is deleted/);
    expect(await svault(['get', 'gone-2'])).toMatchObject({ code: 4 });
    await add('gone-3');
    expect(await json('rm', '-y', 'gone-3')).toMatchObject([{ serviceName: 'gone-3', webhook: 'deleted' }]);
  });
});

describe('while the webhook is away', () => {
  beforeAll(async () => {
    await add('kept');
    await people.pair.stop('webhook');
  });
  afterAll(() => people.pair.start('webhook'));

  test('get and --check exit 5, and so does a store, which says that nothing is stored yet', async () => {
    expect(await svault(['get', 'kept'])).toMatchObject({ code: 5, out: '' });
    expect(await svault(['get', '--check', 'kept'])).toMatchObject({ code: 5, out: '' });
    expect(await svault(['set', 'kept'], { input: 'x' })).toMatchObject({ code: 5, out: '' });
    const added = await svault(['add', 'half'], { input: 'x' });
    expect(added).toMatchObject({ code: 5, out: '' });
    expect(added.err).toMatch(
      /half is created, but its secret may not be stored: .*; svault set half stores/,
    );
    expect((await svault(['ls'])).err).toMatch(/the webhook said nothing of them/);
  });

  test('rm says that the record is left, and how to delete it', async () => {
    const { code, err } = await svault(['rm', '--yes', 'half']);
    expect(code).toBe(5);
    expect(err).toMatch(/half is deleted; the webhook does not answer.*\n.*svault rm half/);
  });
});

test('nothing is given out while the vault is locked: exit 5', async () => {
  await people.pair.admin.call('POST', '/api/vault/lock');
  try {
    const err = expect.stringContaining('VAULT_LOCKED') as string;
    expect(await svault(['get', 'rotated'])).toMatchObject({ code: 5, err });
    expect(await svault(['add', 'locked'], { input: 'x' })).toMatchObject({ code: 5 });
  } finally {
    await people.pair.admin.call('POST', '/api/vault/unlock');
  }
});
