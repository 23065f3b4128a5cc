import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Machine, until } from '../engine/machine.ts';
import { LOAD_WEBHOOK_ENV, type World, makeWorld } from '../load/world.ts';
import { type Agent, askFor, callTool, makeAgent, rpc } from './agents.ts';
import {
  type Answer,
  type Call,
  type Endpoints,
  bearer,
  endpointsOf,
  done,
  gist,
  spread,
  tally,
} from './endpoints.ts';
import { startInternetClient } from './internet-client.ts';
import { CONTROL_PLANES, type ControlPlaneName, type Scale, startScale } from './scale.ts';

/*
 * The three control planes of compose/scale are one for what is decided, limited and logged, also while Valkey, the proxy or
 * one of them is away. two-services.postgres.test.ts of the control plane has every case of it, in one process.
 */

let scale: Scale;
let endpoints: Endpoints;
let world: World;
let admin: Call;
let limits: Machine;
beforeAll(async () => {
  scale = await startScale({
    env: { SV_LIMIT_USER_AGGREGATE: '1000000' },
    webhookEnv: LOAD_WEBHOOK_ENV,
  });
  endpoints = await endpointsOf(scale);
  world = await makeWorld(scale, { readers: 0, proxies: 0 });
  admin = bearer(endpoints.proxy, scale.adminKey);
  limits = await scale.service('valkey');
});
afterAll(async () => {
  await endpoints?.close();
  await world?.remove();
  await scale?.remove();
});

const LIMITED = '429 RATE_LIMITED';
/** key_reveal, an hour, per agent: a slow machine changes nothing of what is left. */
const REVEALS = 20;

const readiness = async (endpoint: Call): Promise<string> => {
  const { status, json } = await endpoint('GET', '/readyz');
  return `${status} ${json?.status}`;
};
const allAre = (what: string) => (): Promise<void> =>
  until(`all control planes to be ${what}`, async () =>
    (await Promise.all(endpoints.direct.map(readiness))).every((said) => said === `200 ${what}`),
  );
const allDegraded = allAre('degraded');
const allWell = allAre('ok');
beforeEach(allWell);

const ask = (endpoint: Call, agent: Agent): Promise<Answer> => askFor(endpoint, agent, world.serviceName);
const reveal = (endpoint: Call, { id }: Agent): Promise<Answer> =>
  bearer(endpoint, scale.adminKey)('POST', `/api/agents/${id}/reveal-key`);

/** What the limit let through is counted, also where a busy machine let it wait for the account's lock too long. */
function countedReveals(answers: readonly Answer[]): Readonly<Record<string, number>> {
  const { '503 UNAVAILABLE': late = 0, ...others } = tally(answers);
  return { ...others, '200': (others['200'] ?? 0) + late };
}

describe('a change at one applies to all', () => {
  test.each([0, 1, 2])(
    'a change at control plane %i, for the next request of each channel',
    async (where) => {
      const here = bearer(endpoints.direct[where] as Call, scale.adminKey);
      const agent = await makeAgent(admin, world.serviceName);
      const { serviceName } = world;
      const settings = { upstreamUrl: 'http://upstream:8080/mcp', serviceName, agentId: agent.id };
      const { key } = await done(
        admin('POST', '/api/proxies', { body: { name: `a proxy ${where}`, ...settings } }),
      );
      const change = async (method: string, path: string, body?: object): Promise<ReadonlySet<string>> => {
        await done(here(method, path, { body }));
        const elsewhere = endpoints.all.filter((_, index) => index !== where);
        const answers = elsewhere.map(async (endpoint) => {
          const both = [
            ask(endpoint, agent),
            callTool(endpoint, agent, 'get_credential', { service: serviceName }),
          ];
          const all = await Promise.all([...both, rpc(endpoint, key, 'tools/list', {}, '/api/proxy/mcp')]);
          return all.map(gist).join(', ');
        });
        return new Set(await Promise.all(answers));
      };
      const path = `/api/agents/${agent.id}`;
      const served = new Set(['307, 200, 200']);
      for (let round = 0; round < 5; round += 1) {
        const inactive = new Set(['403 AGENT_INACTIVE, 403 AGENT_INACTIVE, 403 AGENT_INACTIVE']);
        expect([round, await change('POST', `${path}/suspend`)]).toEqual([round, inactive]);
        expect([round, await change('POST', `${path}/resume`)]).toEqual([round, served]);
      }
      const locked = new Set(['423 VAULT_LOCKED, 200 VAULT_LOCKED, 423 VAULT_LOCKED']);
      expect(await change('POST', '/api/vault/lock')).toEqual(locked);
      expect(await change('POST', '/api/vault/unlock')).toEqual(served);
      const revoked = new Set(['404 NO_GRANT, 200 NO_GRANT, 200']);
      expect(await change('DELETE', `${path}/grants/${serviceName}`)).toEqual(revoked);
    },
  );

  test('an agent has one limit and one lockout for REST and MCP together', async () => {
    const agent = await makeAgent(admin, world.serviceName);
    const answers = await spread(100, endpoints.all, (endpoint, n) =>
      (n >> 2) % 2 === 0 ? ask(endpoint, agent) : callTool(endpoint, agent, 'whoami'),
    );
    const { [LIMITED]: limited, '200': tools = 0, '307': reads = 0 } = tally(answers);
    expect([tools + reads, limited]).toEqual([60, 40]);
    for (const endpoint of endpoints.all) {
      expect(gist(await ask(endpoint, agent))).toBe(LIMITED);
      const { items } = await done(bearer(endpoint, scale.adminKey)('GET', '/api/limits/lockouts'));
      expect(items).toContainEqual(expect.objectContaining({ callerId: agent.id, strikes: 1 }));
    }
  });

  test('the limit of an address is the caller’s behind the proxy, with every claim in its headers', async () => {
    const [one, other] = [await startInternetClient(scale), await startInternetClient(scale)];
    try {
      const begin = { method: 'POST', url: `${scale.url}/api/cli/login/begin` };
      const request = { ...begin, body: { codeChallenge: 'A'.repeat(43) } };
      const [ones, others] = await Promise.all([one.ask(26, request), other.ask(20, request)]);
      expect(ones).toEqual([...Array<number>(20).fill(200), ...Array<number>(6).fill(429)]);
      expect(others).toEqual(Array(20).fill(200));
      expect(await other.ask(1, request)).toEqual([429]);
    } finally {
      await one.remove();
      await other.remove();
    }
  });

  test('each access is in the log once, in one intact chain', async () => {
    const agent = await makeAgent(admin, world.serviceName);
    expect(tally(await spread(20, endpoints.all, (endpoint) => ask(endpoint, agent)))).toEqual({ '307': 20 });
    const query = `/api/audit?agentId=${agent.id}&eventType=AGENT_CREDENTIAL_ACCESS&limit=100`;
    for (const endpoint of endpoints.direct)
      expect((await done(bearer(endpoint, scale.adminKey)('GET', query))).items).toHaveLength(20);
    for (const name of CONTROL_PLANES) {
      const main = '/svault/control-plane/dist/main.js';
      const { exitCode, output } = await (await scale.service(name)).run('node', main, 'audit', 'verify');
      expect([name, exitCode, output]).toEqual([name, 0, expect.stringContaining('intact')]);
    }
  });
});

describe('Valkey', () => {
  test('after a kill it restarts by itself, with all counts', async () => {
    const [one, two, three] = endpoints.direct;
    const counted = await makeAgent(admin);
    expect(countedReveals(await spread(15, [one, two], (endpoint) => reveal(endpoint, counted)))).toEqual({
      '200': 15,
    });
    const { RestartCount: before } = await limits.inspect();
    await limits.crash();
    await until('Valkey to be back', async () => {
      const { RestartCount: after, State: state } = await limits.inspect();
      return after > before && state.Running;
    });
    await limits.healthy();
    await allWell();
    // The third has not seen it before: what it knows, Valkey has kept.
    const left = countedReveals(await spread(9, [three], (endpoint) => reveal(endpoint, counted)));
    expect(left).toEqual({ '200': REVEALS - 15, [LIMITED]: 4 });
  });

  const data = (): string => `${scale.project}_data`;
  /** As its operator gives a command. */
  async function maxMemory(bytes: string): Promise<void> {
    const { password } = new URL(readFileSync(join(scale.folder, 'secrets/redis.url'), 'utf8'));
    // Its client reads the first in place of the second from some version on.
    const set = ['VALKEYCLI_AUTH', 'REDISCLI_AUTH'].map((name) => `${name}=${password}`);
    const command = ['valkey-cli', 'CONFIG', 'SET', 'maxmemory', bytes];
    const { output } = await limits.run('env', ...set, ...command);
    if (output.trim() !== 'OK') throw new Error(`valkey: ${output}`);
  }
  test.each<[string, () => Promise<unknown>, () => Promise<unknown>]>([
    ['stopped', () => limits.stop(), () => limits.start()],
    ['hanging', () => limits.pause(), () => limits.unpause()],
    ['cut off', () => limits.leave(data()), () => limits.join(data(), ['valkey'])],
    ['full', () => maxMemory('1'), () => maxMemory('0')],
  ])(
    'while it is %s agents are served and limits apply, and it is used again when it is back',
    async (_, begin, end) => {
      const [agent, spent, shared] = [
        await makeAgent(admin, world.serviceName),
        await makeAgent(admin),
        await makeAgent(admin),
      ];
      await begin();
      try {
        // One that says nothing is missed when it is asked: nobody waits for it, then or later.
        for (const endpoint of endpoints.direct) expect(gist(await ask(endpoint, agent))).toBe('307');
        await allDegraded();
        expect(await readiness(endpoints.proxy)).toBe('200 degraded');
        expect(tally(await spread(20, endpoints.all, (endpoint) => ask(endpoint, agent)))).toEqual({
          '307': 20,
        });
        for (const endpoint of endpoints.direct) {
          // Nobody gets past the limit at any one of them.
          const answers = await spread(REVEALS + 5, [endpoint], (each) => reveal(each, spent));
          expect(countedReveals(answers)).toEqual({ '200': REVEALS, [LIMITED]: 5 });
          expect(countedReveals(await spread(7, [endpoint], (each) => reveal(each, shared)))).toEqual({
            '200': 7,
          });
        }
      } finally {
        await end();
      }
      await allWell();
      for (const endpoint of endpoints.all) expect(gist(await reveal(endpoint, spent))).toBe(LIMITED);
      // Each tells what it has counted alone: 3 times 7 are more than there is room for.
      const answers = [];
      for (const endpoint of endpoints.direct) answers.push(gist(await reveal(endpoint, shared)));
      expect(answers).toEqual(['200', '200', LIMITED]);
      for (const endpoint of endpoints.all) expect(gist(await reveal(endpoint, shared))).toBe(LIMITED);
    },
  );
});

describe('the proxy', () => {
  test('that is killed during calls restarts by itself, and the control planes continue', async () => {
    const proxy = await scale.service('proxy');
    const starts = () =>
      Promise.all(
        CONTROL_PLANES.map(async (name) => (await (await scale.service(name)).inspect()).State.StartedAt),
      );
    const before = await starts();
    let calling = true;
    const statuses = new Set<number>();
    const clients = Array.from({ length: 8 }, async () => {
      while (calling)
        await admin('GET', '/api/me').then(
          ({ status }) => statuses.add(status),
          () => statuses.add(0),
        );
    });
    try {
      await until('calls to be answered', () => Promise.resolve(statuses.has(200)));
      await proxy.crash();
      await until('calls to break', () => Promise.resolve(statuses.has(0)));
      statuses.clear();
      await until('calls to be answered again', () => Promise.resolve(statuses.has(200)));
    } finally {
      calling = false;
      await Promise.all(clients);
    }
    const after = await spread(60, [admin], (call) => call('GET', '/api/me'));
    expect(tally(after)).toEqual({ '200': 60 });
    expect(await starts()).toEqual(before);
  });
});

describe('a control plane that is stopped', () => {
  /** Stopped in the middle, with its port still open: nobody who connects to it learns that it is of no use. */
  async function whileStill(names: readonly ControlPlaneName[], then: () => Promise<void>): Promise<void> {
    const machines = await Promise.all(names.map((name) => scale.service(name)));
    await Promise.all(machines.map((one) => one.pause()));
    try {
      await then();
    } finally {
      await Promise.all(machines.map((one) => one.unpause()));
    }
  }

  const servedByAll = async (): Promise<boolean> => {
    const answers = await Promise.all(
      Array.from({ length: 24 }, () =>
        admin('GET', '/api/me').then(
          ({ status }) => status,
          () => 0,
        ),
      ),
    );
    return answers.every((status) => status === 200);
  };

  test.each<[string, readonly ControlPlaneName[]]>([
    ['one', ['control-plane-2']],
    ['two', ['control-plane-1', 'control-plane-3']],
  ])('is taken out of rotation and back: %s of three', async (_, names) => {
    await whileStill(names, async () => {
      await until('everybody to be served without them', servedByAll);
      // And it stays so: nobody is sent there again to find out.
      for (let time = 0; time < 4; time += 1) expect(await servedByAll()).toBe(true);
    });
    await allWell();
    // Those that were there all the time stand still now: the others must have been taken back.
    const others = CONTROL_PLANES.filter((name) => !names.includes(name));
    await whileStill(others, () => until('everybody to be served by those that came back', servedByAll));
  });

  test('decides waiting requests by the state at the time when it continues', async () => {
    const agent = await makeAgent(admin, world.serviceName);
    const [one, two] = endpoints.direct;
    expect(gist(await askFor(two, agent, world.serviceName))).toBe('307');
    let waited: Promise<Answer> | undefined;
    await whileStill(['control-plane-2'], async () => {
      waited = askFor(two, agent, world.serviceName);
      await done(bearer(one, scale.adminKey)('POST', `/api/agents/${agent.id}/suspend`));
    });
    expect(waited === undefined ? '' : gist(await waited)).toBe('403 AGENT_INACTIVE');
  });
});
