import { newKey } from '@svault/shared';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authorizationPath, formOf, postForm } from './support/consent-page.ts';
import { type Answer, type Call, clientOf } from './support/management-service.ts';
import { ERAS, MCP, type McpClient, mcpClientOf } from './support/mcp-steps.ts';
import { REDIRECT, introspect, postOauth, refresh, errorIn } from './support/oauth-client.ts';
import { CREDENTIALS, type PairAgent, agentOn, storeOn, take } from './support/pair-agents.ts';
import {
  PAIR_BASE_URL,
  type PairSession,
  approveOn,
  exchangeOn,
  sessionOn,
} from './support/pair-sessions.ts';
import { type StoredState, storedState } from './support/stored-state.ts';

// Our security promises of MCP and its sessions, 16 to 24 of the list in invariants.test.ts.

const SECRET = `canary-${newKey('mcp')}`;

let pair: TestPair;
let state: StoredState;
let anyone: Call;
let admin: Call;

beforeAll(async () => {
  // Those are not what is looked at.
  const limits = ['REGISTER', 'AUTHORIZE', 'TOKEN', 'REVOKE'].map((of) => [`SV_LIMIT_OAUTH_${of}`, '10000']);
  pair = await startPair({ env: Object.fromEntries(limits) as Record<string, string> });
  state = storedState(pair.databaseUrl);
  anyone = clientOf(pair.controlPlaneUrl());
  admin = clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` });
  await storeOn(pair, 'github', { tokenType: 'PlainText', value: SECRET });
});
afterAll(() => pair.close());

const at = (token?: string): McpClient => mcpClientOf({ anyone }, token);
const whoami = async (token: string): Promise<Answer> => (await at(token).call2025('whoami')).answer;
const connected = async (
  ...services: string[]
): Promise<{ readonly agent: PairAgent; readonly session: PairSession }> => {
  const agent = await agentOn(pair, ...services);
  return { agent, session: await sessionOn(pair, agent.id, { switchMcpOn: true }) };
};
const isOver = async (session: PairSession): Promise<void> => {
  expect((await whoami(session.accessToken)).status).toBe(401);
  expect(errorIn(await refresh({ service: { anyone } }, session))).toBe('400 invalid_grant');
  expect((await introspect({ service: { anyone } }, session.accessToken)).json).toEqual({ active: false });
};

describe('16: a token acts as its agent, at its audience alone', () => {
  test('at the MCP endpoint as no other agent, at every other door as nobody', async () => {
    const { agent, session } = await connected('github');
    const other = await agentOn(pair, 'elsewhere');
    expect((await at(session.accessToken).call2026('whoami')).content.id).toBe(agent.id);
    const asked = await at(session.accessToken).call2026('get_credential', {
      service: 'elsewhere',
      agentId: other.id,
    });
    expect(asked.content.code).toBe('NO_GRANT');
    const bearer = { authorization: `Bearer ${session.accessToken}` };
    expect((await anyone('GET', CREDENTIALS, { headers: bearer })).status).toBe(403);
    for (const path of ['/api/me', '/api/agents', `/api/agents/${agent.id}`])
      expect((await anyone('GET', path, { headers: bearer })).status).toBe(401);
  });

  test('one that was minted for another resource is taken neither by MCP nor by REST (R33)', async () => {
    const { agent, session } = await connected('github');
    const upstream = 'https://upstream.example/mcp';
    await state.run(`UPDATE oauth_sessions SET audience = '${upstream}' WHERE agent_id = '${agent.id}'`);
    // It lives: only its place is another.
    expect((await introspect({ service: { anyone } }, session.accessToken)).json).toMatchObject({
      active: true,
      aud: upstream,
    });
    for (const era of ERAS)
      for (const tool of ['whoami', 'get_credential']) {
        const { status, answer } = await at(session.accessToken).call(era, tool, { service: 'github' });
        expect([status, answer.json.code]).toEqual([401, 'INVALID_KEY']);
        expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
      }
    const headers = { authorization: `Bearer ${session.accessToken}` };
    const rest = await anyone('GET', `${CREDENTIALS}?service=github`, { headers });
    expect([rest.status, rest.json.code, rest.headers.get('location')]).toEqual([403, 'INVALID_KEY', null]);
  });
});

test('17: of codes, verifiers and tokens only hashes are kept', async () => {
  const { session } = await connected();
  const next = (await refresh({ service: { anyone } }, session)).json;
  const unused = await approveOn(pair, session.agentId);
  const stored = await state.bytes();
  const secrets = [session.accessToken, session.refreshToken, session.code, session.codeVerifier];
  for (const secret of [...secrets, next.access_token, next.refresh_token, unused.code, unused.codeVerifier])
    expect(tracesOf(secret as string, stored)).toEqual([]);
});

// spec: The result carries no credential bytes.
test('18: MCP gives an address of the webhook, and never a byte of the credential', async () => {
  const { agent, session } = await connected('github');
  const texts: string[] = [];
  for (const token of [agent.apiKey, session.accessToken])
    for (const era of ERAS)
      for (const tool of [
        'list_credentials',
        'show_credential',
        'credential_history',
        'whoami',
        'get_credential',
      ]) {
        const { answer, content } = await at(token).call(era, tool, { service: 'github' });
        texts.push(answer.text);
        if (tool !== 'get_credential') continue;
        expect(content.credentialUrl.startsWith(`${pair.webhookUrl}/v1/credential?`)).toBe(true);
        expect((await take(pair, content.credentialUrl)).json.token.accessToken).toBe(SECRET);
      }
  const seen = [Buffer.from(texts.join('\n')), pair.recorded(), Buffer.from(pair.logOf('control-plane'))];
  expect([...seen, await state.bytes()].flatMap((bytes) => tracesOf(SECRET, bytes))).toEqual([]);
});

test('19: a session that is revoked is over with the answer to it', async () => {
  for (const end of [
    ({ accessToken }: PairSession) => postOauth({ anyone }, 'revoke', { token: accessToken }),
    ({ refreshToken }: PairSession) => postOauth({ anyone }, 'revoke', { token: refreshToken }),
    async ({ agentId }: PairSession) => {
      const { items } = (await admin('GET', '/api/sessions?limit=100')).json as {
        items: readonly { id: string; agentId?: string }[];
      };
      return admin('DELETE', `/api/sessions/${items.find((each) => each.agentId === agentId)?.id}`);
    },
  ]) {
    const { session } = await connected('github');
    let revoked = false;
    const late: number[] = [];
    const callers = Array.from({ length: 4 }, async () => {
      for (let turn = 0; turn < 10; turn++) {
        const sentAfter = revoked;
        const { status } = await whoami(session.accessToken);
        if (sentAfter) late.push(status);
      }
    });
    await whoami(session.accessToken);
    expect((await end(session)).status).toBeLessThan(300);
    revoked = true;
    await Promise.all(callers);
    await isOver(session);
    expect(late.filter((status) => status !== 401)).toEqual([]);
  }
});

describe('20: nobody is sent to an address that was not registered, and nothing is given without consent', () => {
  const NEAR = [
    `${REDIRECT}/`,
    `${REDIRECT}x`,
    `${REDIRECT}?x=1`,
    `${REDIRECT}#x`,
    REDIRECT.replace('http:', 'https:'),
    REDIRECT.replace('127.0.0.1', '127.0.0.1.evil.example'),
    REDIRECT.replace('127.0.0.1', 'user@127.0.0.1'),
    REDIRECT.replace('127.0.0.1', '127.0.0.1@evil.example'),
    REDIRECT.replace('callback', 'CALLBACK'),
    REDIRECT.replace('callback', 'x/../callback'),
    'https://evil.example/callback',
    '//evil.example/callback',
    'javascript:alert(1)',
    '',
  ];

  const kept = async () => [
    await state.value('SELECT count(*) FROM oauth_codes'),
    await state.value('SELECT count(*) FROM oauth_sessions'),
  ];

  test.each(NEAR)('%j', async (redirectUri) => {
    const { session } = await shared();
    const before = await kept();
    const parameters = {
      response_type: 'code',
      client_id: session.clientId,
      redirect_uri: redirectUri,
      code_challenge: 'A'.repeat(43),
      code_challenge_method: 'S256',
      state: 'x',
    };
    for (const headers of [{}, { cookie: session.cookie }]) {
      const asked = await anyone('GET', authorizationPath(parameters), { headers });
      expect([asked.status, asked.headers.get('location')]).toEqual([400, null]);
    }
    // The form of an honest page, with the address changed in it.
    const honest = authorizationPath({ ...parameters, redirect_uri: REDIRECT });
    const page = await anyone('GET', honest, { headers: { cookie: session.cookie } });
    for (const decision of ['allow', 'deny'] as const) {
      const fields = {
        ...formOf(page.text, { agentId: session.agentId, decision }),
        redirect_uri: redirectUri,
      };
      const answer = await postForm(pair.controlPlaneUrl(), session.cookie, fields, PAIR_BASE_URL);
      expect([decision, answer.status, answer.headers.get('location')]).toEqual([decision, 400, null]);
    }
    expect(await kept()).toEqual(before);
  });

  test('who opens the page, or says no, gives nothing', async () => {
    const { session } = await shared();
    const before = await kept();
    const path = authorizationPath({
      response_type: 'code',
      client_id: session.clientId,
      redirect_uri: REDIRECT,
      code_challenge: 'A'.repeat(43),
      code_challenge_method: 'S256',
    });
    const page = await anyone('GET', path, { headers: { cookie: session.cookie } });
    expect(page.status).toBe(200);
    const fields = formOf(page.text, { agentId: session.agentId, decision: 'deny' });
    const no = await postForm(pair.controlPlaneUrl(), session.cookie, fields, PAIR_BASE_URL);
    const told = new URL(no.headers.get('location') ?? '').searchParams;
    expect([told.get('error'), told.get('code')]).toEqual(['access_denied', null]);
    expect(await kept()).toEqual(before);
  });

  let made: ReturnType<typeof connected> | undefined;
  const shared = (): ReturnType<typeof connected> => (made ??= connected('github'));
});

test('21: the session of a suspended or deleted agent, or of one with MCP off, is refused from the next request on', async () => {
  const { agent, session } = await connected('github');
  const change = async (method: string, path: string, body?: object): Promise<void> =>
    expect((await admin(method, `/api/agents/${agent.id}${path}`, { body })).status).toBeLessThan(300);
  const refused = async (code: string): Promise<void> => {
    for (const token of [session.accessToken, agent.apiKey]) {
      const { status, json } = await whoami(token);
      expect([status, json.code]).toEqual([403, code]);
    }
    expect(errorIn(await refresh({ service: { anyone } }, session))).toBe('400 invalid_grant');
  };
  await change('POST', '/suspend');
  await refused('AGENT_INACTIVE');
  expect((await introspect({ service: { anyone } }, session.accessToken)).json).toEqual({ active: false });
  await change('POST', '/resume');
  await change('PATCH', '', { mcpEnabled: false });
  await refused('MCP_DISABLED');
  await change('PATCH', '', { mcpEnabled: true });
  expect((await whoami(session.accessToken)).status).toBe(200);
  await change('DELETE', '');
  await refused('AGENT_INACTIVE');
});

describe('22: a code and a refresh token work once, and end what they gave when they come again', () => {
  test('a code', async () => {
    const { session } = await connected();
    expect((await whoami(session.accessToken)).status).toBe(200);
    expect(errorIn(await exchangeOn(anyone, session))).toBe('400 invalid_grant');
    await isOver(session);
  });

  test('a refresh token, once the grace for a repeat is over', async () => {
    const { session } = await connected();
    const next = (await refresh({ service: { anyone } }, session)).json;
    pair.clock.advance(11_000);
    expect(errorIn(await refresh({ service: { anyone } }, session))).toBe('400 invalid_grant');
    await isOver({ ...session, accessToken: next.access_token, refreshToken: next.refresh_token });
  });

  test('a code without its verifier, or with another one, opens nothing, then or later', async () => {
    const agent = await agentOn(pair);
    for (const codeVerifier of ['', 'A'.repeat(43)]) {
      const approved = await approveOn(pair, agent.id, { switchMcpOn: true });
      expect(errorIn(await exchangeOn(anyone, { ...approved, codeVerifier }))).toBe('400 invalid_grant');
      expect(errorIn(await exchangeOn(anyone, approved))).toBe('400 invalid_grant');
    }
  });
});

test('23: MCP lets through no more than REST does: one floor, one lockout, whatever is shown', async () => {
  const { agent, session } = await connected('github');
  const asks = Array.from({ length: 20 }, () => [
    agent.list(),
    whoami(agent.apiKey),
    whoami(session.accessToken),
  ]);
  const answers = await Promise.all(asks.flat());
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect((await whoami(session.accessToken)).status).toBe(429);
  expect([(await whoami(agent.apiKey)).status, (await agent.list()).status]).toEqual([429, 429]);
});

test('24: no method of MCP is answered without credentials; a token in a query is none, and in no log', async () => {
  const { session } = await connected('github');
  const methods = [
    'initialize',
    'server/discover',
    'tools/list',
    'tools/call',
    'ping',
    'notifications/x',
    'x',
  ];
  for (const era of ERAS)
    for (const method of methods) {
      const answer = await at().request(era, method, { name: 'whoami' });
      expect([method, answer.status, answer.json.code]).toEqual([method, 401, 'MISSING_KEY']);
    }
  for (const name of ['access_token', 'key', 'token', 'authorization']) {
    const answer = await anyone('POST', `${MCP}?${name}=${session.accessToken}`, {
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    });
    expect([name, answer.status]).toEqual([name, 401]);
  }
  for (const secret of [session.accessToken, session.refreshToken, session.code, session.codeVerifier])
    expect(tracesOf(secret, Buffer.from(pair.logOf('control-plane')))).toEqual([]);
});
