import { expect } from 'vitest';
import type { Answer } from '../management-service.ts';
import { codeOf } from '../proxy-steps.ts';
import { gist } from './answers.ts';
import type { POLICY_ROWS } from './policy-rows.ts';
import type { ProxyPlay, ProxyScene } from './proxy-scene.ts';
import type { Row } from './row.ts';

const RULES = [
  { type: 'time_window', timezone: 'UTC', windows: [{ days: [1], start: '08:00', end: '18:00' }] },
  { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] },
  { type: 'geo_restrict', mode: 'deny', countries: ['CH'] },
  { type: 'rate_limit', limit: 1, windowSeconds: 60 },
  { type: 'max_usage', limit: 1 },
  { type: 'manual_approval' },
];

const make = ({ admin }: ProxyScene, body: object): Promise<Answer> =>
  admin('POST', '/api/policies', { body });

/** What each kind of target is refused when the policy is attached there alone: agents ask by REST, proxies for a call. */
async function refusals(scene: ProxyScene, rule: { readonly type: string }): Promise<readonly unknown[]> {
  const said: unknown[] = [];
  for (const targetType of ['agent', 'proxy', 'token'] as const) {
    await scene.clear();
    const [agent, proxy] = [await scene.agent('github'), await scene.proxyTo()];
    const targetId = { agent: agent.id, proxy: proxy.id, token: 'github' }[targetType];
    await scene.policy(rule, { targetType, targetId });
    const byProxy = [await proxy.send('tools/call'), await proxy.send('initialize'), await proxy.call('GET')];
    said.push([
      targetType,
      gist(await agent.ask('github')),
      ...byProxy.map((each) => codeOf(each).join(' ')),
    ]);
  }
  return said;
}

/** "ABAC policy". */
export const POLICY_PLAYS = {
  'name and rules': async (scene) => {
    const made = await make(scene, { name: 'all of them', rules: RULES });
    expect([made.status, made.json.name]).toEqual([201, 'all of them']);
    const types = (made.json.rules as { type: string }[]).map(({ type }) => type);
    expect(types).toEqual(RULES.map(({ type }) => type));
    for (const body of [
      { name: 'none', rules: [] },
      { name: 'none' },
      { name: '', rules: RULES },
      { rules: RULES },
    ])
      expect((await make(scene, body)).status).toBe(422);
  },

  'rule types': async (scene, row) => {
    for (const rule of RULES) {
      expect(row.says).toMatch(new RegExp(`\\b${rule.type}\\b`));
      expect((await make(scene, { name: rule.type, rules: [rule] })).status).toBe(201);
    }
    for (const type of ['Time_window', 'approval', ''])
      expect((await make(scene, { name: 'x', rules: [{ type }] })).status).toBe(422);
    // Of a lifetime: no window gives it back.
    const proxy = await scene.proxyTo();
    await scene.policy({ type: 'max_usage', limit: 1 }, { targetType: 'proxy', targetId: proxy.id });
    expect((await proxy.send('tools/call')).status).toBe(200);
    scene.wait(400 * 86_400_000);
    expect(codeOf(await proxy.send('tools/call'))).toEqual([403, 'POLICY_DENIED']);
  },

  manual_approval: async (scene) => {
    const denied = '403 POLICY_DENIED';
    expect(await refusals(scene, { type: 'manual_approval' })).toEqual([
      ['agent', denied, '200 ', '200 ', '200 '],
      ['proxy', '307', denied, denied, denied],
      ['token', denied, denied, denied, denied],
    ]);
  },

  targets: async (scene) => {
    const { id } = (await make(scene, { name: 'p', rules: [{ type: 'max_usage', limit: 5 }] })).json;
    const [agent, proxy] = [await scene.agent(), await scene.proxyTo()];
    const attach = async (targetType: string, targetId: string): Promise<number> => {
      const body = { targetType, targetId };
      return (await scene.admin('POST', `/api/policies/${id}/attachments`, { body })).status;
    };
    for (const [type, target] of [
      ['agent', agent.id],
      ['proxy', proxy.id],
      ['token', 'github'],
    ] as const)
      expect([type, await attach(type, target)]).toEqual([type, 201]);
    expect(await attach('folder', 'github')).toBe(422);
  },
} as const satisfies Record<keyof typeof POLICY_ROWS, ProxyPlay<Row>>;
