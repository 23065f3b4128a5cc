import { parseRegistrationLink } from '@svault/compose/binding';
import { newKey, randomToken } from '@svault/shared';
import { registrationLinkByPage } from '@svault/test-kit/bind-by-page';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { startTokenEndpoint } from '@svault/test-kit/token-endpoint';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operationsOf } from './support/api-operations.ts';
import { type Answer, type Call, clientOf, makePlace, serveOn } from './support/management-service.ts';
import { CREDENTIALS, agentOn, grant, pathFor, storeOn } from './support/pair-agents.ts';
import { type StoredState, storedState } from './support/stored-state.ts';

/*
 * What this server promises, by number, with both real programs. The tests beside this file go deeper into each.
 *
 *  1. It never sees a plaintext credential.                                   (whole: no-plaintext.test.ts)
 *  2. A suspended or deleted agent is refused from the next request on.
 *  3. A grant that has lapsed is deleted by the request that meets it.
 *  4. Without valid credentials every management route gives the same 401.
 *  5. Owner links and binding codes expire, and work once.
 *  6. A key is shown once and kept as a hash, or wrapped.
 *  7. No log line, at debug level either, holds a secret.                     (whole: no-plaintext.test.ts)
 *  8. A wrong master key does not start it and changes no byte.               (whole: master-key.sqlite.test.ts)
 *  9. No ticket without its audit row, and the row is written before the redirect leaves.
 *                                          (whole: invariants.sqlite.test.ts, invariants.postgres.test.ts)
 * 10. kill -9 under load loses nothing that was answered.                     (whole: invariants.sqlite.test.ts)
 * 11. One SQLite file has one serve; other subcommands work beside it.                                 (there too)
 * 12. A lock is in force from the next request on.
 * 13. A changed, missing or reordered row of the log is found.
 * 14. A key in a query is neither accepted nor logged.
 * 15. A page of another site cannot act in an owner's name.                  (whole: cross-site.sqlite.test.ts)
 *
 * 25. A client's secret goes to the account's webhook alone, for the provider that it was given for; no token comes
 *     back.                                                             (whole: token-refresh.test.ts)
 *
 * In invariants-mcp.test.ts:
 * 16. A token of an OAuth session acts as its agent, at its audience alone.
 * 17. Of codes, verifiers and tokens only hashes are kept.                    (whole: stored-secrets.test.ts)
 * 18. MCP gives an address of the webhook, and never a byte of the credential.
 * 19. A session that is revoked is over with the answer to it.                (whole: oauth-revoke.test.ts)
 * 20. Nobody is sent to an address that was not registered, and nothing is given without consent.
 *                                                                            (whole: oauth-consent.test.ts)
 * 21. The session of an agent that is suspended, deleted or has MCP off is refused from the next request on.
 * 22. A code and a refresh token work once, and end what they gave when they come again.
 * 23. MCP lets through no more than REST does.                         (whole: agent-channels.test.ts)
 * 24. No method of MCP is answered without credentials.               (whole: without-credentials.test.ts)
 */

const SECRET = `canary-${randomToken(24)}`;

describe('the pair in one process', () => {
  let pair: TestPair;
  let state: StoredState;
  let anyone: Call;
  let admin: Call;

  beforeAll(async () => {
    pair = await startPair();
    state = storedState(pair.databaseUrl);
    anyone = clientOf(pair.controlPlaneUrl());
    admin = clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` });
    await storeOn(pair, 'github', { tokenType: 'PlainText', value: SECRET });
  });
  afterAll(() => pair.close());

  test('1: an agent gets the credential; this server has seen nothing of it', async () => {
    const agent = await agentOn(pair, 'github');
    expect((await agent.fetch('github')).json.token.accessToken).toBe(SECRET);
    const seen = [pair.recorded(), Buffer.from(pair.logOf('control-plane')), await state.bytes()];
    expect(seen.flatMap((bytes) => tracesOf(SECRET, bytes))).toEqual([]);
  });

  test('2: a suspended or deleted agent is refused from the next request on', async () => {
    const agent = await agentOn(pair, 'github');
    for (const [method, path] of [
      ['POST', `/api/agents/${agent.id}/suspend`],
      ['DELETE', `/api/agents/${agent.id}`],
    ] as const) {
      expect((await admin(method, path)).status).toBeLessThan(300);
      for (const answer of [await agent.ask('github'), await agent.list()])
        expect(answer).toMatchObject({ status: 403, json: { code: 'AGENT_INACTIVE' } });
    }
  });

  test('2: requests that are under way while it is suspended get nothing after the answer to the suspension', async () => {
    const agent = await agentOn(pair, 'github');
    let suspended = false;
    const late: number[] = [];
    const callers = Array.from({ length: 8 }, async () => {
      for (let turn = 0; turn < 20; turn++) {
        const sentAfter = suspended;
        const { status } = await agent.ask('github');
        if (sentAfter) late.push(status);
      }
    });
    await agent.ask('github');
    await admin('POST', `/api/agents/${agent.id}/suspend`);
    suspended = true;
    await Promise.all(callers);
    expect(new Set(late)).toEqual(new Set([403]));
  });

  test('3: a grant that has lapsed is deleted by the request that meets it', async () => {
    const agent = await agentOn(pair);
    await grant(pair, agent.id, { serviceName: 'github', expiresInSeconds: 3_600 });
    pair.clock.advance(3_600_000);
    expect((await agent.ask('github')).json.code).toBe('GRANT_EXPIRED');
    const rows = await state.value('SELECT count(*) FROM grants WHERE agent_id = ?', agent.id);
    expect([rows, (await agent.ask('github')).json.code]).toEqual([0, 'NO_GRANT']);
  });

  test('4: without valid credentials every management route gives the same 401', async () => {
    const agent = await agentOn(pair);
    const revoked = (await admin('POST', '/api/admin-keys', { body: { name: 'short-lived' } })).json;
    await admin('DELETE', `/api/admin-keys/${revoked.adminKey.id}`);
    const impostors: readonly Record<string, string>[] = [
      {},
      { authorization: `Bearer ${newKey('svadmin')}` },
      { authorization: `Bearer ${revoked.key}` },
      { authorization: `Bearer ${agent.apiKey}` },
      { authorization: `Basic ${Buffer.from(`admin:${pair.adminKey}`).toString('base64')}` },
      { authorization: pair.adminKey },
      { authorization: 'Bearer ' },
      { 'x-agent-key': pair.adminKey },
      { cookie: `svault=${randomToken(32)}` },
      { cookie: `svault=${pair.adminKey}; svault=${pair.adminKey}` },
    ];
    const guarded = (await operationsOf(anyone)).filter(({ isPublic }) => !isPublic);
    expect(guarded.length).toBeGreaterThan(20);
    const answers = new Set<string>();
    for (const { method, path } of guarded)
      for (const headers of impostors) {
        const { status, text, headers: head } = await anyone(method, path, { headers });
        answers.add(`${status} ${head.get('www-authenticate')} ${head.get('set-cookie')} ${text}`);
      }
    expect([...answers]).toEqual([
      expect.stringMatching(/^401 Bearer realm="svault" null .*UNAUTHENTICATED/),
    ]);
  });

  test('4: only these routes answer without credentials', async () => {
    const open = (await operationsOf(anyone)).filter(({ isPublic }) => isPublic);
    expect(open.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      'GET /api/openapi.json',
      'POST /api/cli/login/begin',
      'POST /api/cli/login/exchange',
      'POST /api/cli/login/refresh',
      'POST /api/login',
      'POST /api/login/link',
    ]);
  });

  test('6: a key is shown once and kept as a hash, or wrapped', async () => {
    const agent = await agentOn(pair);
    const made = (await admin('POST', '/api/admin-keys', { body: { name: 'automation' } })).json;
    const rotated = (await admin('POST', `/api/agents/${agent.id}/rotate-key`)).json;
    const keys = [agent.apiKey, rotated.apiKey, made.key, pair.adminKey] as string[];
    const shown = await Promise.all(
      (await operationsOf(anyone))
        .filter(({ method }) => method === 'GET')
        .map(({ path }) => admin('GET', path.replace(/agt_A+/, agent.id))),
    );
    const stored = await state.bytes();
    for (const key of keys) {
      expect(shown.filter(({ text }) => text.includes(key))).toEqual([]);
      expect(tracesOf(key, stored)).toEqual([]);
    }
  });

  test('7: no log line at debug level holds a secret', async () => {
    const agent = await agentOn(pair, 'github');
    const location = (await agent.ask('github')).headers.get('location') ?? '';
    const ticket = new URL(location).searchParams.get('ticket') ?? 'none';
    await anyone('GET', `/api/agents?key=${agent.apiKey}`, { headers: { 'x-agent-key': agent.apiKey } });
    await anyone('POST', `/api/login/link?token=${pair.adminKey}`, { rawBody: pair.adminKey });
    const secrets = [agent.apiKey, pair.adminKey, ticket, SECRET, ...Object.values(pair.masterKeys)];
    for (const program of ['control-plane', 'webhook'] as const) {
      const log = Buffer.from(pair.logOf(program));
      expect(log.length).toBeGreaterThan(0);
      for (const secret of [...secrets, pair.setupToken]) expect(tracesOf(secret, log)).toEqual([]);
    }
  });

  test('9: no ticket without its audit row, and no change without its event', async () => {
    const agent = await agentOn(pair, 'github');
    await grant(pair, agent.id, { serviceName: 'hourly', expiresInSeconds: 3_600 });
    pair.clock.advance(3_600_000);
    // What a log that takes no rows looks like to the program, however it came about.
    const heal = await state.refuseEvents();
    const refused = [await agent.ask('github'), await agent.ask('hourly'), await agent.ask('unheard-of')];
    const locking = await admin('POST', '/api/vault/lock');
    const suspending = await admin('POST', `/api/agents/${agent.id}/suspend`);
    await heal();
    for (const answer of refused) {
      expect(answer).toMatchObject({ status: 503, json: { code: 'AUDIT_UNAVAILABLE' } });
      expect(answer.headers.get('location')).toBeNull();
      expect(answer.headers.get('retry-after')).toBe(String(answer.json.retryAfter));
      expect(answer.headers.get('cache-control')).toBe('no-store');
    }
    expect([locking.status, suspending.status]).toEqual([500, 500]);
    // It heals by itself, and nothing of what was refused has happened: not locked, not suspended, not deleted.
    expect((await agent.ask('github')).status).toBe(307);
    expect((await agent.ask('hourly')).json.code).toBe('GRANT_EXPIRED');
  });

  test('12: a lock is in force from the next request on', async () => {
    const agent = await agentOn(pair, 'github');
    await admin('POST', '/api/vault/lock');
    expect((await agent.ask('github')).json.code).toBe('VAULT_LOCKED');
    for (const path of ['/store-ticket', '/credential-ticket'])
      expect((await admin('POST', `/api/tokens/github${path}`, { body: {} })).status).toBe(423);
    expect((await admin('POST', `/api/agents/${agent.id}/reveal-key`)).status).toBe(423);
    await admin('POST', '/api/vault/unlock');
    expect((await agent.ask('github')).status).toBe(307);
  });

  test('25: a client’s secret goes to the webhook for its own provider alone, and no token comes back', async () => {
    const endpoint = await startTokenEndpoint();
    const clientSecret = `canary-${randomToken(24)}`;
    endpoint.register({ id: 'mine', method: 'client_secret_basic', secret: clientSecret });
    const { accessToken, refreshToken } = endpoint.grant('mine');
    const client = { tokenUrl: endpoint.url, authMethod: 'client_secret_basic' };
    const provide = (clientId: string): Promise<Answer> =>
      admin('POST', '/api/providers', { body: { ...client, name: 'p', clientId, clientSecret } });
    const provider = { ...client, clientId: 'mine', mediated: true };
    await storeOn(pair, 'mail', { tokenType: 'JWT', accessToken, refreshToken, provider });
    const outcome = async (): Promise<unknown> =>
      (await admin('POST', '/api/tokens/mail/refresh')).json.outcome;
    await provide('mine, or nearly');
    expect(await outcome()).toBe('provider_not_configured');
    expect(tracesOf(clientSecret, pair.recorded())).toEqual([]);
    await provide('mine');
    expect(await outcome()).toBe('refreshed');
    const seen = Buffer.concat([
      pair.recorded(),
      Buffer.from(pair.logOf('control-plane')),
      await state.bytes(),
    ]);
    for (const token of [accessToken, refreshToken]) expect(tracesOf(token, seen)).toEqual([]);
    await endpoint.close();
  });

  // spec: The API key in a query string was formerly accepted and is no longer accepted.
  test('14: a key in a query is neither accepted nor logged', async () => {
    const agent = await agentOn(pair, 'github');
    for (const name of ['key', 'apiKey', 'agent_key', 'x-agent-key', 'authorization', 'access_token']) {
      const answer = await anyone('GET', `${pathFor('github')}&${name}=${agent.apiKey}`);
      expect(answer).toMatchObject({ status: 401, json: { code: 'MISSING_KEY' } });
    }
    expect((await anyone('GET', `/api/me?key=${pair.adminKey}`)).status).toBe(401);
    expect((await anyone('POST', `${CREDENTIALS}?key=${agent.apiKey}`)).status).toBe(405);
    for (const key of [agent.apiKey, pair.adminKey])
      expect(tracesOf(key, Buffer.from(pair.logOf('control-plane')))).toEqual([]);
  });
});

describe('5: owner links and binding codes expire, and work once', () => {
  let pair: TestPair;
  beforeAll(async () => {
    pair = await startPair({ bound: false });
  });
  afterAll(() => pair.close());

  const offer = async () =>
    parseRegistrationLink(
      await registrationLinkByPage(pair.bypassingRecorder(pair.webhookUrl), pair.setupToken),
    );
  const bindBy = async (body: object) =>
    clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` })(
      'POST',
      '/api/webhook/bind',
      { body },
    );

  test('an owner link signs in once, over a restart too', async () => {
    const place = await makePlace();
    const first = await serveOn(place);
    const token = new URL(first.running.ownerLink ?? '').searchParams.get('token');
    const signIn = { body: { token } };
    expect((await first.anyone('POST', '/api/login/link', signIn)).status).toBe(200);
    await first.running.close();
    const second = await serveOn(place);
    expect((await second.anyone('POST', '/api/login/link', signIn)).status).toBe(401);
    await second.stop();
  });

  test('an owner link of half an hour ago signs nobody in', async () => {
    const service = await serveOn(await makePlace());
    const token = new URL(service.running.ownerLink ?? '').searchParams.get('token');
    service.clock.advance(30 * 60_000);
    expect((await service.anyone('POST', '/api/login/link', { body: { token } })).status).toBe(401);
    await service.stop();
  });

  // spec: The webhook bind code is valid for 5 minutes.
  // spec: code (one-time UUID, 5-minute lifetime)
  // spec: POST /v1/exchange | service, signed | One-time code exchange that establishes the HMAC secret.
  test('a binding code of five minutes ago binds nothing, a fresh one once', async () => {
    const old = await offer();
    pair.clock.advance(5 * 60_000 + 1_000);
    expect(await bindBy(old)).toMatchObject({ status: 502, json: { webhookCode: 'CODE_EXPIRED' } });
    const fresh = await offer();
    expect((await bindBy(old)).status).toBe(502);
    expect((await bindBy(fresh)).status).toBe(201);
    expect(await bindBy(fresh)).toMatchObject({ status: 409, json: { code: 'CONFLICT' } });
    await pair.admin.call('DELETE', '/api/webhook');
    expect(await bindBy(fresh)).toMatchObject({ status: 502, json: { webhookCode: 'CODE_USED' } });
  });
});

describe('13: a row of the log that was changed, taken away or moved is found', () => {
  let pair: TestPair;
  beforeAll(async () => {
    pair = await startPair({ bound: false });
    const agent = await agentOn(pair, 'github');
    for (const name of ['a', 'b', 'c', 'd']) await agent.ask(name);
  });
  afterAll(() => pair.close());

  const verdict = () =>
    pair.admin.call<{ intact: boolean; seq?: number; problem?: string }>('GET', '/api/audit/verify');
  const tampered: readonly [what: string, sql: string, seq: number][] = [
    ['an outcome is changed', "UPDATE audit_events SET outcome = 'success' WHERE seq = 6", 6],
    [
      'a time is changed',
      "UPDATE audit_events SET occurred_at = '2026-01-01T00:00:00.000Z' WHERE seq = 6",
      6,
    ],
    ['a detail is changed', 'UPDATE audit_events SET detail = NULL WHERE seq = 6', 6],
    ['an agent is taken out', 'UPDATE audit_events SET agent_id = NULL WHERE seq = 6', 6],
    ['a count is added', 'UPDATE audit_events SET event_count = 7 WHERE seq = 6', 6],
    ['a row is taken away', 'DELETE FROM audit_events WHERE seq = 6', 6],
    ['the first row is taken away', 'DELETE FROM audit_events WHERE seq = 1', 1],
    ['the last rows are taken away', 'DELETE FROM audit_events WHERE seq > 6', 7],
    [
      'two rows change places',
      'UPDATE audit_events SET seq = CASE seq WHEN 6 THEN -7 WHEN 7 THEN -6 END WHERE seq IN (6, 7); UPDATE audit_events SET seq = -seq WHERE seq < 0',
      6,
    ],
    [
      'a row is there twice',
      'UPDATE audit_events SET seq = -seq - 1 WHERE seq > 6; UPDATE audit_events SET seq = -seq WHERE seq < 0; INSERT INTO audit_events SELECT vault_id, 7, id, event_type, outcome, occurred_at, agent_id, proxy_id, user_id, service_name, event_count, detail, hash FROM audit_events WHERE seq = 6',
      7,
    ],
    [
      'the head is moved back to hide the last rows',
      'DELETE FROM audit_events WHERE seq > 6; UPDATE audit_chains SET head_seq = 6',
      6,
    ],
  ];

  test.each(tampered)('%s', async (_what, sql, seq) => {
    expect(await verdict()).toMatchObject({ intact: true });
    const state = storedState(pair.databaseUrl);
    await state.run(
      'CREATE TABLE kept_rows AS SELECT * FROM audit_events; CREATE TABLE kept_chains AS SELECT * FROM audit_chains',
    );
    await state.run(sql);
    const found = await verdict();
    await state.run(
      `DELETE FROM audit_events; INSERT INTO audit_events SELECT * FROM kept_rows;
       DELETE FROM audit_chains; INSERT INTO audit_chains SELECT * FROM kept_chains;
       DROP TABLE kept_rows; DROP TABLE kept_chains`,
    );
    expect(found).toMatchObject({ intact: false, seq });
  });
});
