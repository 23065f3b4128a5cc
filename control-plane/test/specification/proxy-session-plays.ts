import { expect } from 'vitest';
import type { Answer } from '../management-service.ts';
import { postOauth } from '../oauth-steps.ts';
import { sessionSettings } from '../proxy-steps.ts';
import { expectHttpRefusal } from './mcp-answers.ts';
import type { PROXY_ROWS } from './proxy-rows.ts';
import { type ProxyPlay, SECRET, shown } from './proxy-scene.ts';
import type { Row } from './row.ts';

const HOUR_MS = 3_600_000;
const SESSION = /^Bearer svsess_[\w-]{43}$/;

/** What the specification says of the upstream auth types. */
export const PROXY_SESSION_PLAYS = {
  'upstream auth type': async (scene) => {
    const typeOf = async (id: string): Promise<unknown> =>
      (await scene.admin('GET', `/api/proxies/${id}`)).json.upstreamAuthType;
    const [token, session] = [await scene.proxyTo(), await scene.sessionProxyTo()];
    expect([await typeOf(token.id), await typeOf(session.id)]).toEqual(['Token', 'sv_session']);
    for (const proxy of [token, session]) expect((await proxy.send('tools/call')).status).toBe(200);
    expect(shown(scene)).toEqual([`Bearer ${SECRET}`, expect.stringMatching(SESSION)]);
    for (const upstreamAuthType of ['token', 'None', '', 1]) {
      const body = { name: 'p', upstreamUrl: scene.upstream.url, serviceName: 'github', upstreamAuthType };
      expect((await scene.admin('POST', '/api/proxies', { body })).status).toBe(422);
    }
  },

  sv_session: async (scene) => {
    const proxy = await scene.sessionProxyTo();
    await scene.pair.stop('webhook');
    scene.passed();
    try {
      for (const method of ['POST', 'GET', 'DELETE', 'OPTIONS'])
        expect((await proxy.call(method)).status).toBe(200);
    } finally {
      await scene.pair.start('webhook');
    }
    expect(scene.passed()).not.toContain('/v1/proxy');
    for (const authorization of shown(scene)) expect(authorization).toMatch(SESSION);
    // One of its own for an hour, and made anew by itself.
    expect(new Set(shown(scene)).size).toBe(1);
    scene.wait(HOUR_MS);
    expect((await proxy.send('tools/call')).status).toBe(200);
    expect(new Set(shown(scene)).size).toBe(2);
  },

  'sv_session: introspection': async (scene) => {
    const agent = await scene.agent();
    const proxy = await scene.proxyTo(sessionSettings(agent.id, scene.upstream.url));
    const introspect = async (authorization = ''): Promise<Answer['json']> =>
      (await postOauth(scene, 'introspect', { token: authorization.slice('Bearer '.length) })).json;
    // As such an upstream does: it asks before it answers.
    const told: Answer['json'][] = [];
    scene.upstream.answer = async ({ headers }, res) => {
      told.push(await introspect(headers.authorization));
      res.writeHead(told.at(-1).active === true ? 200 : 401).end();
    };
    expect((await proxy.send('tools/call')).status).toBe(200);
    expect(told).toMatchObject([{ active: true, sub: agent.id, aud: scene.upstream.url }]);
    const [token] = shown(scene);
    await scene.admin('POST', `/api/agents/${agent.id}/suspend`);
    expect(await introspect(token)).toEqual({ active: false });
    expectHttpRefusal(await proxy.send('tools/call'), 403, 'AGENT_INACTIVE');
    expect(told).toHaveLength(1);
  },
} as const satisfies Partial<Record<keyof typeof PROXY_ROWS, ProxyPlay<Row>>>;
