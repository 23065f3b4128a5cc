import { newId } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { textOf } from '../support/browser.ts';
import { newProof } from '../support/cli-client.ts';
import { authorizationPath, formOf, postForm, registerClient } from '../support/consent-page.ts';
import { type TwoAccounts, twoAccounts } from '../isolation/accounts.ts';
import { type Answer, clientOf } from '../support/management-service.ts';

const REDIRECT = 'http://127.0.0.1:49152/callback';

let accounts: TwoAccounts;
let path: string;
let ours: string;
let theirs: string;
/** Of the other account. */
let foreignAgent: string;

beforeAll(async () => {
  accounts = await twoAccounts({
    SV_LIMIT_OAUTH_AUTHORIZE: '100000',
    SV_LIMIT_OAUTH_REGISTER: '1000',
  });
  const { service, owner, stranger } = accounts;
  path = authorizationPath({
    response_type: 'code',
    client_id: await registerClient(service, [REDIRECT]),
    redirect_uri: REDIRECT,
    code_challenge: newProof().codeChallenge,
    code_challenge_method: 'S256',
  });
  ours = await owner.signIn();
  theirs = await stranger.signIn();
  foreignAgent = (await stranger.call('POST', '/api/agents', { body: { name: 'theirs', mcpEnabled: true } }))
    .json.agent.id;
});
afterAll(() => accounts.stop());

const open = (cookie: string): Promise<Answer> =>
  clientOf(accounts.service.running.url, { cookie })('GET', path);
const post = (cookie: string, page: Answer, agentId: string): Promise<Answer> =>
  postForm(accounts.service.running.url, cookie, formOf(page.text, { agentId, switchMcpOn: true }));
const codes = (): Promise<unknown> => accounts.service.place.state.value('SELECT count(*) FROM oauth_codes');

describe('an account without an agent', () => {
  test('the consent page of an account without an active agent shows how to create one', async () => {
    const page = await open(ours);
    expect(page.status).toBe(200);
    for (const words of ['There is no agent yet', '/api/agents', '"mcpEnabled":true', 'suspended'])
      expect(textOf(page.text)).toContain(words);
    expect(page.text).not.toContain('<form');
    const { json } = await accounts.owner.call('POST', '/api/agents', { body: { name: 'asleep' } });
    await accounts.owner.call('POST', `/api/agents/${json.agent.id}/suspend`);
    expect((await open(ours)).text).toContain('There is no agent yet');
    await accounts.owner.call('POST', `/api/agents/${json.agent.id}/resume`);
    expect((await open(ours)).text).toContain(json.agent.id);
  });
});

describe('another account', () => {
  test('an agent of another account is neither offered nor accepted', async () => {
    const page = await open(ours);
    expect(page.text).not.toContain(foreignAgent);
    const before = await codes();
    const answer = await post(ours, page, foreignAgent);
    expect([answer.status, answer.headers.get('location')]).toEqual([422, null]);
    expect(await codes()).toBe(before);
  });

  test("a session of another account that sends the page's form gets none of its agents", async () => {
    const page = await open(ours);
    const [agentId] = /agt_[A-Za-z0-9_-]{22}/.exec(page.text) ?? [''];
    const before = await codes();
    const answer = await post(theirs, page, agentId);
    expect([answer.status, answer.headers.get('location')]).toEqual([422, null]);
    // The page now asks about the other account's agents.
    expect(answer.text).toContain('stranger@example.org');
    expect(answer.text).toContain(foreignAgent);
    expect(answer.text).not.toContain(`value="${agentId}"`);
    expect(await codes()).toBe(before);
  });
});

describe('an account with many agents', () => {
  const NAMES = Array.from({ length: 6 }, (_, n) => `agent ${n}`);
  const make = async (all: readonly string[]): Promise<string[]> => {
    const made: string[] = [];
    for (const name of all) {
      const { json } = await accounts.stranger.call('POST', '/api/agents', { body: { name } });
      made.push(json.agent.id);
    }
    return made;
  };

  /** Copies an agent's row, since creating many by the API takes seconds. */
  const copy = async (id: string, count: number): Promise<string[]> => {
    const { state } = accounts.service.place;
    const columns = ((await state.columns())['agents'] ?? '').split(' ');
    const ids = Array.from({ length: count }, () => newId('agt'));
    const copied = ids.map((made) => {
      const values = columns.map((name) => (name === 'id' || name === 'key_hash' ? `'${made}'` : name));
      return `INSERT INTO agents (${columns.join(', ')}) SELECT ${values.join(', ')} FROM agents WHERE id = '${id}';`;
    });
    await state.run(copied.join('\n'));
    return ids;
  };

  test('an account with many agents gets a menu by name, with none selected', async () => {
    const [first = ''] = await make(NAMES.toReversed());
    const page = await open(theirs);
    const offered = [...page.text.matchAll(/<option value="agt_[^>]*>([^<]*)</g)].map(([, name]) => name);
    expect(offered).toEqual([...NAMES.map((name) => `${name} (MCP is off)`), 'theirs']);
    expect(page.text).not.toContain('selected');
    expect(page.text).not.toContain('agent_id');

    const fields = { ...formOf(page.text, { agentId: first }), mcp: '' };
    const refused = await postForm(accounts.service.running.url, theirs, fields);
    expect([refused.status, refused.text.includes(`value="${first}" selected`)]).toEqual([422, true]);
    const allowed = await postForm(accounts.service.running.url, theirs, { ...fields, mcp: 'on' });
    expect(new URL(allowed.headers.get('location') ?? '').searchParams.has('code')).toBe(true);
  });

  test('an account with more agents than the menu holds can type an agent id', async () => {
    const made = await copy(foreignAgent, 200);
    const page = await open(theirs);
    expect(page.text.match(/<option value="agt_/g)).toHaveLength(200);
    const unlisted = made.find((id) => !page.text.includes(id)) ?? '';
    const fields = { ...formOf(page.text, { agentId: '' }), agent_id: ` ${unlisted} ` };
    const answer = await postForm(accounts.service.running.url, theirs, fields);
    expect(new URL(answer.headers.get('location') ?? '').searchParams.has('code')).toBe(true);
  });
});
