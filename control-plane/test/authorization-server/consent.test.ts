import { newId } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TwoAccounts, twoAccounts } from '../isolation/accounts.ts';
import { type TestBrowser, browserOn, fieldsOf, textOf } from '../support/browser.ts';
import { newProof } from '../support/cli-client.ts';
import {
  AUTHORIZE,
  type RequestParameters,
  authorizationPath,
  authorize,
  cookieBy,
  formOf,
  postForm,
  registerClient,
} from '../support/consent-page.ts';
import { BASE_URL, type Answer, type ManagementService, clientOf } from '../support/management-service.ts';
import { addMember } from '../support/members.ts';

const REDIRECT = 'https://app.example/callback?tenant=7';
const LOOPBACK = 'http://127.0.0.1:49152/callback';
const IPV6 = 'http://[::1]/callback?a=%5B';
const PRIVATE = 'com.example.app:/callback';
const RESOURCE = `${BASE_URL}/api/agents/mcp`;

let accounts: TwoAccounts;
let service: ManagementService;
let cookie: string;
let clientId: string;
let agentId: string;
/** Of the other account. */
let theirs: string;
let foreignAgent: string;

beforeAll(async () => {
  accounts = await twoAccounts({ SV_LIMIT_OAUTH_AUTHORIZE: '100000', SV_LIMIT_OAUTH_REGISTER: '1000' });
  ({ service } = accounts);
  cookie = await accounts.owner.signIn();
  theirs = await accounts.stranger.signIn();
  foreignAgent = (
    await accounts.stranger.call('POST', '/api/agents', { body: { name: 'theirs', mcpEnabled: true } })
  ).json.agent.id;
  clientId = await registerClient(service, [REDIRECT, LOOPBACK, IPV6, PRIVATE], 'Test "Client" <b>');
  agentId = await makeAgent('builder');
});
afterAll(() => accounts.stop());

async function makeAgent(name: string, mcpEnabled = true, description = ''): Promise<string> {
  const { json } = await service.admin('POST', '/api/agents', { body: { name, mcpEnabled, description } });
  return json.agent.id;
}

const sound = (others: RequestParameters = {}): RequestParameters => ({
  response_type: 'code',
  client_id: clientId,
  redirect_uri: REDIRECT,
  code_challenge: newProof().codeChallenge,
  code_challenge_method: 'S256',
  state: 'a state',
  resource: RESOURCE,
  ...others,
});
const open = (others?: RequestParameters, as = cookie): Promise<Answer> =>
  clientOf(service.running.url, { cookie: as })('GET', authorizationPath(sound(others)));
const post = (fields: Readonly<Record<string, string>>, as = cookie, origin?: string): Promise<Answer> =>
  postForm(service.running.url, as, fields, origin);
const headingOf = ({ text }: Answer): string => textOf(/<h1>(.*?)<\/h1>/.exec(text)?.[1] ?? '');
const alertOf = ({ text }: Answer): string | undefined => /role="alert">(.*?)<\/p>/.exec(text)?.[1];
const locationOf = ({ headers }: Answer): URL => new URL(headers.get('location') ?? 'none:');
const codes = (): Promise<unknown> => service.place.state.value('SELECT count(*) FROM oauth_codes');

/** Expects an error page without a redirect. */
function expectErrorPage(answer: Answer, words: string): void {
  expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
  expect(headingOf(answer)).toBe('This program cannot be let in');
  expect(textOf(answer.text)).toContain(words);
}

describe('a user who is not signed in', () => {
  test('the sign-in leads back to the same authorization request', async () => {
    const browser: TestBrowser = browserOn(service.running.url);
    const path = authorizationPath(sound({ state: 'ä &+%"' }));
    const { status, headers } = await browser.get(path);
    expect(status).toBe(303);
    const signIn = new URL(headers.get('location') ?? '', BASE_URL);
    expect(signIn.pathname).toBe('/login');
    browser.cookies.set('svault', cookie.split('=')[1] ?? '');
    const page = await browser.visit(signIn.pathname + signIn.search);
    expect(page.status).toBe(200);
    expect(fieldsOf(page.text)['state']).toBe('ä &+%"');
  });

  test('a request too long to be kept asks the user to load the page again', async () => {
    const answer = await browserOn(service.running.url).get(
      authorizationPath(sound({ state: 'x'.repeat(3_000) })),
    );
    expect([answer.status, headingOf(answer)]).toEqual([403, 'Sign in first']);
  });

  test('no error is redirected before a user is signed in (RFC 9700 section 4.11.2), and each is afterwards', async () => {
    for (const more of [`resource=${RESOURCE}`, 'request=e.y.', 'response_mode=fragment']) {
      const path = `${authorizationPath(sound())}&${more}`;
      const { headers } = await clientOf(service.running.url)('GET', path);
      expect(headers.get('location')).toMatch(/^\/login\?returnTo=/);
      const returnTo = new URL(headers.get('location') ?? '', BASE_URL).searchParams.get('returnTo') ?? '';
      const answer = await clientOf(service.running.url, { cookie })('GET', returnTo);
      expect([more, locationOf(answer).searchParams.has('error')]).toEqual([more, true]);
    }
  });
});

describe('the consent page', () => {
  test('the page shows the client with its unverified name, the redirect target, what it gets, and the account', async () => {
    const { status, text } = await open();
    expect(status).toBe(200);
    const page = textOf(text);
    for (const words of ['Test "Client" <b>', 'app.example', 'owner@example.org', 'builder'])
      expect(page).toContain(words);
    expect(text).not.toContain('<b>');
  });

  test('the page has no script, frame, referrer or cache, and its form leads to the client only', async () => {
    const { headers, text } = await open({ redirect_uri: PRIVATE });
    const policy = headers.get('content-security-policy') ?? '';
    for (const part of [
      "form-action 'self' com.example.app: https:;",
      "default-src 'none'",
      "frame-ancestors 'none'",
    ])
      expect(policy).toContain(part);
    expect(policy).not.toContain('script-src');
    expect(text).not.toMatch(/<script|\son\w+=/i);
    const names = ['x-frame-options', 'referrer-policy', 'cache-control', 'access-control-allow-origin'];
    expect(names.map((name) => headers.get(name))).toEqual(['DENY', 'no-referrer', 'no-store', null]);
  });

  test('the consent and sign-in pages of an authorization keep window.opener, and no other page does', async () => {
    const policyOf = async (path: string): Promise<string | null> =>
      (await clientOf(service.running.url, { cookie })('GET', path)).headers.get(
        'cross-origin-opener-policy',
      );
    expect(await policyOf(authorizationPath(sound()))).toBeNull();
    expect(await policyOf('/login')).toBeNull();
    expect(await policyOf('/vault/webhook-bind')).toBe('same-origin');
  });

  test('the page offers active agents only, and preselects none', async () => {
    const [suspended, deleted] = [await makeAgent('asleep'), await makeAgent('gone')];
    await service.admin('POST', `/api/agents/${suspended}/suspend`);
    await service.admin('DELETE', `/api/agents/${deleted}`);
    const other = await makeAgent('another');
    const { text } = await open();
    const offered = [...text.matchAll(/name="agent" id="[^"]*" value="(agt_[^"]*)"/g)].map(([, id]) => id);
    expect(offered).toEqual([other, agentId]);
    expect(text).not.toMatch(/ checked[ >]/);
    for (const id of [other, suspended]) await service.admin('DELETE', `/api/agents/${id}`);
    expect((await open()).text).toMatch(new RegExp(`value="${agentId}" required `));
  });

  test('the page lists the credentials of each agent, without those whose grant has expired', async () => {
    const agent = await makeAgent('reader');
    for (const grant of [{ serviceName: 'github' }, { serviceName: 'short-lived', expiresInSeconds: 3_600 }])
      await service.admin('POST', `/api/agents/${agent}/grants`, { body: { ...grant, allowMissing: true } });
    const reads = async (): Promise<string> =>
      new RegExp(`id="reads-${agent}">([^]*?)</div>`)
        .exec((await open()).text)?.[1]
        ?.replaceAll(/<[^>]*>|\s/g, '') ?? '';
    expect(await reads()).toBe('Readsgithub,short-lived');
    service.clock.advance(3_600_000);
    expect(await reads()).toBe('Readsgithub');
    await service.admin('DELETE', `/api/agents/${agent}`);
  });

  test('opening the page writes nothing', async () => {
    const { state } = service.place;
    // Last uses and the leader lease may be written meanwhile.
    const tables = ['agents', 'audit_events', 'oauth_clients', 'oauth_codes', 'oauth_sessions', 'sessions'];
    const kept = () => Promise.all(tables.map((table) => state.value(`SELECT count(*) FROM ${table}`)));
    const before = await kept();
    for (let n = 0; n < 3; n++) await open();
    expect(await kept()).toEqual(before);
  });
});

describe('allowing', () => {
  test('allowing redirects with code, state and iss, and keeps the query of the redirect URI', async () => {
    const { codeChallenge } = newProof();
    for (const state of ['s', 'ä€😀', 'a b+c&d=e%25#f', `"'<>`, 'x'.repeat(1_000)]) {
      const answer = await authorize(service, {
        cookie,
        clientId,
        redirectUri: REDIRECT,
        codeChallenge,
        state,
        choice: { agentId },
      });
      expect([...answer.keys()]).toEqual(['tenant', 'code', 'state', 'iss']);
      expect(Object.fromEntries(answer)).toEqual({
        tenant: '7',
        code: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
        state,
        iss: BASE_URL,
      });
    }
  });

  test('allowing redirects without caching, to the redirect URI of the request', async () => {
    for (const redirectUri of ['http://127.0.0.1:50123/callback', IPV6, PRIVATE]) {
      const { text } = await open({ redirect_uri: redirectUri, state: undefined, resource: undefined });
      const answer = await post(formOf(text, { agentId }));
      expect(locationOf(answer).searchParams.has('state')).toBe(false);
      expect(answer.status).toBe(303);
      expect(answer.headers.get('location')?.startsWith(redirectUri)).toBe(true);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    }
  });

  test('allowing marks the client as used', async () => {
    const asking = await registerClient(service, [REDIRECT]);
    const lastUse = () =>
      service.place.state.value('SELECT last_used_at FROM oauth_clients WHERE id = ?', asking);
    const registered = await lastUse();
    service.clock.advance(1_000);
    const { text } = await open({ client_id: asking });
    await post({ ...formOf(text, { agentId }), decision: 'deny' });
    expect(await lastUse()).toBe(registered);
    await post(formOf(text, { agentId }));
    expect(await lastUse()).toBe(new Date(service.clock.now()).toISOString());
  });
});

describe('an agent whose MCP is off', () => {
  test('Allow switches MCP on where the page says so, with an event that names the user', async () => {
    const off = await makeAgent('quiet', false);
    const { text } = await open();
    expect(text).toContain('Allow switches it on');
    expect(Object.keys(fieldsOf(text)).filter((name) => name.startsWith('mcp'))).toEqual([`mcp_${off}`]);
    const answer = await post(formOf(text, { agentId: off }));
    expect(locationOf(answer).searchParams.has('code')).toBe(true);
    expect((await service.admin('GET', `/api/agents/${off}`)).json.mcpEnabled).toBe(true);
    const { items } = (await service.admin('GET', `/api/audit?agentId=${off}&eventType=AGENT_UPDATED`)).json;
    expect(items).toMatchObject([{ outcome: 'success', detail: { members: ['mcpEnabled'] } }]);
    await service.admin('DELETE', `/api/agents/${off}`);
  });

  test('Allow switches on nothing that the page did not name: where MCP was on then, it asks again', async () => {
    const agent = await makeAgent('quiet');
    const { text } = await open();
    await service.admin('PATCH', `/api/agents/${agent}`, { body: { mcpEnabled: false } });
    const refused = await post(formOf(text, { agentId: agent }));
    expect([refused.status, alertOf(refused)]).toEqual([
      422,
      expect.stringContaining('MCP was switched off'),
    ]);
    expect((await service.admin('GET', `/api/agents/${agent}`)).json.mcpEnabled).toBe(false);
    // The choice stays, and the form can be sent again.
    expect(refused.text).toMatch(new RegExp(`value="${agent}" required checked`));
    const answer = await post(formOf(refused.text, { agentId: agent }));
    expect(locationOf(answer).searchParams.has('code')).toBe(true);
    await service.admin('DELETE', `/api/agents/${agent}`);
  });

  test('the field of another agent does not switch MCP on', async () => {
    const [off, other] = [await makeAgent('quiet', false), await makeAgent('quieter', false)];
    const { text } = await open();
    const fields = { ...formOf(text, { agentId: off }), [`mcp_${off}`]: '' };
    expect((await post(fields)).status).toBe(422);
    for (const id of [off, other]) {
      expect((await service.admin('GET', `/api/agents/${id}`)).json.mcpEnabled).toBe(false);
      await service.admin('DELETE', `/api/agents/${id}`);
    }
  });
});

describe('denying', () => {
  test('denying redirects with access_denied, state and iss, and stores nothing', async () => {
    const { text } = await open();
    const before = await codes();
    for (const decision of ['deny', '', 'Allow', 'ALLOW']) {
      const answer = await post({ ...formOf(text, { agentId }), decision });
      expect(answer.status).toBe(303);
      expect(Object.fromEntries(locationOf(answer).searchParams)).toEqual({
        tenant: '7',
        error: 'access_denied',
        error_description: expect.any(String),
        state: 'a state',
        iss: BASE_URL,
      });
    }
    expect(await codes()).toBe(before);
  });
});

describe('a request without a trusted redirect URI', () => {
  test.each([
    ['no client id', { client_id: undefined }, 'client_id'],
    ['a client id of nobody', { client_id: 'ocl_AAAAAAAAAAAAAAAAAAAAAA' }, 'client_id'],
    ['a client id that is none', { client_id: 'nobody' }, 'client_id'],
    ['no redirect URI', { redirect_uri: undefined }, 'redirect_uri'],
    ['one of somebody else', { redirect_uri: 'https://evil.example/callback?tenant=7' }, 'redirect_uri'],
    ['a near match', { redirect_uri: `${REDIRECT}&x=1` }, 'redirect_uri'],
    ['a state with a line end', { state: 'a\r\nb' }, 'state'],
  ])('a request with %s gets a page and no redirect, signed in or not', async (_what, others, words) => {
    for (const as of [cookie, '']) expectErrorPage(await open(others, as), words);
  });

  test('a request with a parameter twice gets a page and no redirect', async () => {
    const path = `${authorizationPath(sound())}&other=x&other=x`;
    expectErrorPage(await clientOf(service.running.url, { cookie })('GET', path), 'twice');
  });

  test('the error page shows the parameter as text', async () => {
    const evil = '"><script>alert(1)</script>';
    const { text } = await open({ client_id: evil });
    expect(text).not.toContain('<script');
    expect(textOf(text)).toContain(evil);
  });
});

test('an invalid request with a trusted redirect URI gets its error there, with iss', async () => {
  const answer = await open({ code_challenge: 'short' });
  expect(answer.status).toBe(303);
  const location = locationOf(answer);
  expect(location.origin).toBe('https://app.example');
  expect(Object.fromEntries(location.searchParams)).toEqual({
    tenant: '7',
    error: 'invalid_request',
    error_description: expect.any(String),
    state: 'a state',
    iss: BASE_URL,
  });
});

describe('the form of the consent page', () => {
  const sent = async (others: Record<string, string>) => {
    const { text } = await open();
    return post({ ...formOf(text, { agentId }), ...others });
  };

  test.each([
    [{ redirect_uri: 'https://evil.example/' }, 'redirect_uri'],
    [{ client_id: 'ocl_AAAAAAAAAAAAAAAAAAAAAA' }, 'client_id'],
  ])('a form with %j gets an error page', async (others, words) => {
    const before = await codes();
    expectErrorPage(await sent(others), words);
    expect(await codes()).toBe(before);
  });

  test('a form with an invalid parameter gets no code', async () => {
    const before = await codes();
    const answer = await sent({ code_challenge_method: 'plain' });
    expect(locationOf(answer).searchParams.get('error')).toBe('invalid_request');
    expect(await codes()).toBe(before);
  });

  test('a repeated field, another content type and an endless body are rejected', async () => {
    const { text } = await open();
    const fields = new URLSearchParams(formOf(text, { agentId }));
    const send = (rawBody: string, type = 'application/x-www-form-urlencoded') =>
      clientOf(service.running.url, { cookie, origin: BASE_URL })('POST', AUTHORIZE, {
        rawBody,
        headers: { 'content-type': type },
      });
    expect((await send(`${fields.toString()}&agent=${agentId}`)).status).toBe(400);
    expect((await send(`${fields.toString()}&decision=deny`)).status).toBe(400);
    expect((await send(JSON.stringify(Object.fromEntries(fields)), 'application/json')).status).toBe(415);
    expect((await send(`${fields.toString()}&x=${'x'.repeat(20_000)}`)).status).toBe(413);
    expect((await clientOf(service.running.url, { cookie })('PUT', AUTHORIZE)).headers.get('allow')).toBe(
      'GET, HEAD, POST',
    );
  });
});

describe('an attacker', () => {
  test('a link cannot decide: GET ignores a decision', async () => {
    const before = await codes();
    const { status } = await open({ decision: 'allow', agent: agentId, [`mcp_${agentId}`]: 'on' });
    expect(status).toBe(200);
    expect(await codes()).toBe(before);
  });

  test('the page accepts no admin key and no CLI token', async () => {
    const { status } = await service.admin('GET', authorizationPath(sound()));
    expect(status).toBe(303);
    const { text } = await open();
    const answer = await service.admin('POST', AUTHORIZE, {
      rawBody: new URLSearchParams(formOf(text, { agentId })).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: BASE_URL },
    });
    expect(answer.headers.get('location')).toMatch(/^\/login\?/);
  });
});

describe('between the page and its form', () => {
  test('a form with an agent that is suspended, deleted or unknown is rejected', async () => {
    const agent = await makeAgent('short-lived');
    const { text } = await open();
    const before = await codes();
    await service.admin('POST', `/api/agents/${agent}/suspend`);
    for (const chosen of [agent, 'agt_AAAAAAAAAAAAAAAAAAAAAA', 'x', "' OR 1=1 --"]) {
      const answer = await post(formOf(text, { agentId: chosen, switchMcpOn: true }));
      expect([chosen, answer.status, alertOf(answer)]).toEqual([
        chosen,
        422,
        expect.stringContaining('not there any more'),
      ]);
    }
    const none = await post(formOf(text, { agentId: '' }));
    expect([none.status, alertOf(none)]).toEqual([422, expect.stringContaining('Choose an agent')]);
    await service.admin('DELETE', `/api/agents/${agent}`);
    expect((await post(formOf(text, { agentId: agent }))).status).toBe(422);
    expect(await codes()).toBe(before);
  });

  test('a form of a user who signed out or was removed leads to the sign-in', async () => {
    const member = await addMember(service, 'member');
    const { url } = (await service.admin('POST', `/api/members/${member.id}/link`)).json;
    const removed = await cookieBy(service, url);
    const { text } = await open({}, removed);
    await service.admin('DELETE', `/api/members/${member.id}`);
    const before = await codes();
    const answer = await post(formOf(text, { agentId }), removed);
    expect(answer.headers.get('location')).toMatch(/^\/login\?returnTo=/);
    expect(await codes()).toBe(before);
  });

  test('while the vault is locked page and form say so, and no code is issued', async () => {
    const { text } = await open();
    const before = await codes();
    await service.admin('POST', '/api/vault/lock');
    try {
      for (const answer of [await open(), await post(formOf(text, { agentId }))])
        expect([answer.status, headingOf(answer)]).toEqual([423, 'The vault is locked']);
    } finally {
      await service.admin('POST', '/api/vault/unlock');
    }
    expect(await codes()).toBe(before);
    expect(locationOf(await post(formOf(text, { agentId }))).searchParams.has('code')).toBe(true);
  });

  test('a form of a client that was evicted gets an error page', async () => {
    const forgotten = await registerClient(service, [REDIRECT]);
    const { text } = await open({ client_id: forgotten });
    await service.place.state.run(`DELETE FROM oauth_clients WHERE id = '${forgotten}'`);
    expectErrorPage(await post(formOf(text, { agentId })), 'client_id');
  });
});

test('the consent page of an account without an active agent shows how to create one', async () => {
  const path = `/api/agents/${foreignAgent}`;
  await accounts.stranger.call('POST', `${path}/suspend`);
  const page = await open({}, theirs);
  expect(page.status).toBe(200);
  for (const words of ['There is no agent yet', 'svault agents create --name my-agent --mcp', 'suspended'])
    expect(textOf(page.text)).toContain(words);
  expect(page.text).not.toContain('<form');
  await accounts.stranger.call('POST', `${path}/resume`);
  expect((await open({}, theirs)).text).toContain(foreignAgent);
});

describe('another account', () => {
  const postAs = (as: string, { text }: Answer, chosen: string): Promise<Answer> =>
    post(formOf(text, { agentId: chosen, switchMcpOn: true }), as);

  test('an agent of another account is neither offered nor accepted', async () => {
    const page = await open();
    expect(page.text).not.toContain(foreignAgent);
    const before = await codes();
    const answer = await postAs(cookie, page, foreignAgent);
    expect([answer.status, answer.headers.get('location')]).toEqual([422, null]);
    expect(await codes()).toBe(before);
  });

  test("a session of another account that sends the page's form gets none of its agents", async () => {
    const page = await open();
    const before = await codes();
    const answer = await postAs(theirs, page, agentId);
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

  /** Copies an agent's row, since creating many by the API takes seconds. */
  const copy = async (id: string, count: number): Promise<string[]> => {
    const { state } = service.place;
    const columns = ((await state.columns())['agents'] ?? '').split(' ');
    const ids = Array.from({ length: count }, () => newId('agt'));
    const copied = ids.map((made) => {
      const values = columns.map((name) =>
        ['id', 'key_hash', 'name_hash'].includes(name) ? `'${made}'` : name,
      );
      return `INSERT INTO agents (${columns.join(', ')}) SELECT ${values.join(', ')} FROM agents WHERE id = '${id}';`;
    });
    await state.run(copied.join('\n'));
    return ids;
  };

  test('an account with many agents gets a menu by name, with none selected, and may type an id that is not listed', async () => {
    const made: string[] = [];
    for (const name of NAMES.toReversed())
      made.push((await accounts.stranger.call('POST', '/api/agents', { body: { name } })).json.agent.id);
    const [first = ''] = made;
    const page = await open({}, theirs);
    const offered = [...page.text.matchAll(/<option value="agt_[^>]*>([^<]*)</g)].map(([, name]) => name);
    expect(offered).toEqual([...NAMES.map((name) => `${name} (MCP is off)`), 'theirs']);
    expect(page.text).not.toContain('selected');
    expect(page.text).not.toContain('agent_id');

    const fields = { ...formOf(page.text, { agentId: first }), mcp: '' };
    const refused = await post(fields, theirs);
    expect([refused.status, refused.text.includes(`value="${first}" selected`)]).toEqual([422, true]);
    const allowed = await post(formOf(page.text, { agentId: first }), theirs);
    expect(locationOf(allowed).searchParams.has('code')).toBe(true);

    const copies = await copy(foreignAgent, 200);
    const full = await open({}, theirs);
    expect(full.text.match(/<option value="agt_/g)).toHaveLength(200);
    // The list is by time, and a copy has the time of its original: any of them may be the one left out.
    const unlisted = [foreignAgent, ...copies].find((id) => !full.text.includes(id)) ?? '';
    const typed = { ...formOf(full.text, { agentId: '' }), agent_id: ` ${unlisted} ` };
    expect(locationOf(await post(typed, theirs)).searchParams.has('code')).toBe(true);
  });
});
