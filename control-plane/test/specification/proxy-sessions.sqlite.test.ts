import { expect } from 'vitest';
import type { Answer } from '../support/management-service.ts';
import { postOauth } from '../support/oauth-client.ts';
import { sessionSettings } from '../support/proxy-steps.ts';
import { expectHttpRefusal } from './mcp-answers.ts';
import { SECRET, shown, proxyTest as test } from './proxy-fixture.ts';
import { spec } from '@svault/test-kit/spec';

const HOUR_MS = 3_600_000;
const SESSION = /^Bearer svsess_[\w-]{43}$/;

test(
  'the auth type of an upstream is Token, or sv_session',
  spec('Upstream auth type: Token (default) or sv_session.'),
  async ({ fixture }) => {
    const typeOf = async (id: string): Promise<unknown> =>
      (await fixture.admin('GET', `/api/proxies/${id}`)).json.upstreamAuthType;
    const [token, session] = [await fixture.proxyTo(), await fixture.sessionProxyTo()];
    expect([await typeOf(token.id), await typeOf(session.id)]).toEqual(['Token', 'sv_session']);
    for (const proxy of [token, session]) expect((await proxy.send('tools/call')).status).toBe(200);
    expect(shown(fixture)).toEqual([`Bearer ${SECRET}`, expect.stringMatching(SESSION)]);
    for (const upstreamAuthType of ['token', 'None', '', 1]) {
      const body = { name: 'p', upstreamUrl: fixture.upstream.url, serviceName: 'github', upstreamAuthType };
      expect((await fixture.admin('POST', '/api/proxies', { body })).status).toBe(422);
    }
  },
);

test(
  'with sv_session the control plane calls the upstream with a session token, without the webhook',
  spec(
    'With upstream auth type sv_session, the service itself injects Authorization: Bearer svsess_... and calls the upstream directly, with no webhook hop.',
  ),
  async ({ fixture }) => {
    const proxy = await fixture.sessionProxyTo();
    await fixture.pair.stop('webhook');
    fixture.passed();
    try {
      for (const method of ['POST', 'GET', 'DELETE', 'OPTIONS'])
        expect((await proxy.call(method)).status).toBe(200);
    } finally {
      await fixture.pair.start('webhook');
    }
    expect(fixture.passed()).not.toContain('/v1/proxy');
    for (const authorization of shown(fixture)) expect(authorization).toMatch(SESSION);
    // One of its own for an hour, and made anew by itself.
    expect(new Set(shown(fixture)).size).toBe(1);
    fixture.wait(HOUR_MS);
    expect((await proxy.send('tools/call')).status).toBe(200);
    expect(new Set(shown(fixture)).size).toBe(2);
  },
);

test(
  'an upstream validates the session token by introspection',
  spec('The upstream validates the session through the introspection endpoint.'),
  async ({ fixture }) => {
    const agent = await fixture.agent();
    const proxy = await fixture.proxyTo(sessionSettings(agent.id, fixture.upstream.url));
    const introspect = async (authorization = ''): Promise<Answer['json']> =>
      (await postOauth(fixture, 'introspect', { token: authorization.slice('Bearer '.length) })).json;
    // As such an upstream does: it asks before it answers.
    const told: Answer['json'][] = [];
    fixture.upstream.answer = async ({ headers }, res) => {
      told.push(await introspect(headers.authorization));
      res.writeHead(told.at(-1).active === true ? 200 : 401).end();
    };
    expect((await proxy.send('tools/call')).status).toBe(200);
    expect(told).toMatchObject([{ active: true, sub: agent.id, aud: fixture.upstream.url }]);
    const [token] = shown(fixture);
    await fixture.admin('POST', `/api/agents/${agent.id}/suspend`);
    expect(await introspect(token)).toEqual({ active: false });
    expectHttpRefusal(await proxy.send('tools/call'), 403, 'AGENT_INACTIVE');
    expect(told).toHaveLength(1);
  },
);
