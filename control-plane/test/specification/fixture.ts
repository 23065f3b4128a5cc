import { type JobsByHand, jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { type PairOptions, type TestPair, startPair } from '@svault/test-kit/pair';
import { type Answer, type Call, clientOf } from '../support/management-service.ts';
import { expect, test as base } from 'vitest';
import { CREDENTIALS, type PairAgent, agentOn, grant } from '../support/pair-agents.ts';
import { storedState } from '../support/stored-state.ts';
import { pipeline } from './pipeline.ts';

const HOUR_MS = 3_600_000;
/** Longer than any window, and than a box full of strikes decays in. */
const LONG_MS = 25 * HOUR_MS;

/** Both real programs, and an account in which each test begins with nothing counted. */
export interface Fixture {
  readonly pair: TestPair;
  /** With the owner's admin key. */
  readonly admin: Call;
  readonly anyone: Call;
  agent(...serviceNames: string[]): Promise<PairAgent>;
  agents(count: number, ...serviceNames: string[]): Promise<PairAgent[]>;
  /** Makes a policy of one rule and attaches it; `name` is its name. */
  policy(
    rule: { readonly type: string } & Record<string, unknown>,
    target: { readonly targetType: 'agent' | 'proxy' | 'token'; readonly targetId: string },
    name?: string,
  ): Promise<string>;
  grant(agent: PairAgent, body: object): Promise<void>;
  /** A proxy of a credential that the webhook does not hold. */
  proxy(): Promise<{ readonly id: string; readonly key: string; ask(): Promise<Answer> }>;
  deleteAgents(agents: readonly PairAgent[]): Promise<void>;
  /** Uses list mode, which costs nothing but limits, so many times by each; all are let through. */
  spend(agents: readonly PairAgent[], each: number): Promise<void>;
  wait(ms: number): void;
  /** Runs a background job of the service once, by its name in the log; by itself none runs. */
  readonly runJob: JobsByHand['run'];
  /** Ships the log until the webhook has all of it. */
  shipped(): Promise<void>;
  /** No agent, policy, window or strike is left of the test before. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export async function startFixture(options: PairOptions = {}): Promise<Fixture> {
  const jobs = jobsByHand();
  const pair = await startPair({ logLevel: 'silent', startJob: jobs.startJob, ...options });
  const admin = clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` });
  const deleteAgents: Fixture['deleteAgents'] = async (agents) => {
    await fewAtOnce(agents.length, (n) => pair.admin.call('DELETE', `/api/agents/${agents[n]?.id}`));
  };
  return {
    pair,
    admin,
    anyone: clientOf(pair.controlPlaneUrl()),
    agent: (...serviceNames) => agentOn(pair, ...serviceNames),
    agents: (count, ...serviceNames) => fewAtOnce(count, () => agentOn(pair, ...serviceNames)),
    policy: async (rule, target, name = `a ${rule.type} policy`) => {
      const body = { name, enabled: true, rules: [rule] };
      const token = { serviceName: target.targetId, tokenType: 'PlainText' };
      if (target.targetType === 'token') await admin('POST', '/api/tokens', { body: token });
      const { id } = await pair.admin.call<{ id: string }>('POST', '/api/policies', body);
      await pair.admin.call('POST', `/api/policies/${id}/attachments`, target);
      return name;
    },
    grant: async ({ id }, body) => void (await grant(pair, id, body)),
    proxy: async () => {
      const body = { name: 'p', upstreamUrl: 'https://mcp.example.com/', serviceName: 'nothing' };
      const { proxy, key } = (await admin('POST', '/api/proxies', { body })).json;
      const call = clientOf(pair.controlPlaneUrl(), { 'x-mcp-key': key });
      return { id: proxy.id, key, ask: () => call('POST', '/api/proxy/mcp') };
    },
    deleteAgents,
    spend: async (agents, each) => {
      const asked = agents.map(({ apiKey }) => ({
        path: CREDENTIALS,
        headers: { authorization: `Bearer ${apiKey}` },
      }));
      const turns = Array.from({ length: each }, () => asked).flat();
      const statuses = await pipeline(pair.controlPlaneUrl(), turns);
      expect(new Set(statuses)).toEqual(new Set([200]));
    },
    wait: (ms) => pair.clock.advance(ms),
    runJob: jobs.run,
    shipped: async () => {
      const state = storedState(pair.databaseUrl);
      const unshipped = async (): Promise<unknown> => {
        // After a round that failed the shipper pauses by the clock.
        pair.clock.advance(1_000);
        await jobs.run('audit shipping');
        return state.value('SELECT sum(head_seq - shipped_seq) FROM audit_chains');
      };
      await expect.poll(unshipped).toBe(0);
    },
    clear: async () => {
      for (const path of [
        '/api/agents?status=active',
        '/api/agents?status=suspended',
        '/api/policies',
        '/api/proxies',
      ]) {
        const { items } = await pair.admin.call<{ items: PairAgent[] }>(
          'GET',
          `${path}${path.includes('?') ? '&' : '?'}limit=100`,
        );
        for (const { id } of items) await pair.admin.call('DELETE', `${path.split('?')[0]}/${id}`);
      }
      pair.clock.advance(LONG_MS);
    },
    close: () => pair.close(),
  };
}

const AT_ONCE = 8;

/** Changes of one account follow one another; who asks for too many at once is told to come back. */
async function fewAtOnce<T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  while (made.length < count) {
    const [from, size] = [made.length, Math.min(AT_ONCE, count - made.length)];
    made.push(...(await Promise.all(Array.from({ length: size }, (_, n) => make(from + n)))));
  }
  return made;
}

/** Asks several times, one after another. @returns the responses in their order */
export async function times(count: number, ask: () => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  while (answers.length < count) answers.push(await ask());
  return answers;
}

/** The specification's rules other than `rate_limit`, each set to block at the fixture's time. */
export const BLOCKING_RULES = [
  {
    type: 'time_window',
    timezone: 'UTC',
    windows: [{ days: [1, 2, 3, 4, 5, 6, 7], start: '03:00', end: '03:01' }],
  },
  { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] },
  { type: 'geo_restrict', mode: 'allow', countries: ['CH'] },
  { type: 'max_usage', limit: 1 },
  { type: 'manual_approval' },
] as const;

/** `test` with a fixture that the tests of a file share, cleared before each. */
export const fixtureTest = base
  // oxlint-disable-next-line no-empty-pattern -- vitest reads from it which fixtures this one uses
  .extend('shared', { scope: 'file' }, async ({}, { onCleanup }) => {
    const fixture = await startFixture();
    onCleanup(fixture.close);
    return fixture;
  })
  .extend('cleared', async ({ shared }) => {
    await shared.clear();
    return shared;
  });
