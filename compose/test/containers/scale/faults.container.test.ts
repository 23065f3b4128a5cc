import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, type Call, type Doors, bearer, doorsOf, done, gist, spread, tally } from './doors.ts';
import { type Machine, until } from '../engine/machine.ts';
import { CONTROL_PLANES, type ControlPlaneName, type Scale, startScale } from './scale.ts';
import { type Agent, askFor, listGrants, makeAgent } from './agents.ts';
import { seedStrikes, valkey } from './valkey.ts';

/*
 * Three control planes while a part of what they share is away: Valkey, the proxy, one of themselves. What is counted here has
 * windows of an hour, so that a slow machine changes nothing.
 */

let scale: Scale;
let doors: Doors;
let admin: Call;
let limits: Machine;
beforeAll(async () => {
  scale = await startScale({ env: { SV_LIMIT_USER_AGGREGATE: '1000000' } });
  doors = await doorsOf(scale);
  admin = bearer(doors.proxy, scale.adminKey);
  limits = await scale.service('valkey');
});
afterAll(async () => {
  await doors?.close();
  await scale?.remove();
});

const LIMITED = '429 RATE_LIMITED';
/** key_reveal, an hour, per agent. */
const REVEALS = 20;
/** Far more than any answer takes while Valkey is away, and far less than one takes that waits for it. */
const PATIENCE_MS = 5_000;

const readiness = async (door: Call): Promise<string> => {
  const { status, json } = await door('GET', '/readyz', { patienceMs: PATIENCE_MS });
  return `${status} ${json?.status}`;
};
const allAre = (what: string) => (): Promise<void> =>
  until(`all control planes to be ${what}`, async () =>
    (await Promise.all(doors.direct.map(readiness))).every((said) => said === `200 ${what}`),
  );
const allDegraded = allAre('degraded');
const allWell = allAre('ok');
beforeEach(allWell);

const reveal = (door: Call, { id }: Agent): Promise<Answer> =>
  bearer(door, scale.adminKey)('POST', `/api/agents/${id}/reveal-key`, { patienceMs: PATIENCE_MS });

/** Locked out for minutes, and known for it at every control plane. */
async function lockedOut(knownAt: readonly Call[]): Promise<Agent> {
  const agent = await makeAgent(admin);
  await listGrants(doors.direct[0], agent);
  await seedStrikes(scale, agent.id, 9);
  expect(tally(await spread(62, doors.direct.slice(0, 2), (door) => listGrants(door, agent)))).toEqual({
    '200': 59,
    [LIMITED]: 3,
  });
  for (const door of knownAt) expect((await listGrants(door, agent)).status).toBe(429);
  return agent;
}

describe('Valkey', () => {
  test('after a kill it restarts by itself, with all counts', async () => {
    const [one, two, three] = doors.direct;
    const locked = await lockedOut([]);
    const counted = await makeAgent(admin);
    expect(tally(await spread(15, [one, two], (door) => reveal(door, counted)))).toEqual({ '200': 15 });
    const { RestartCount: before } = await limits.inspect();
    await limits.crash();
    await until('Valkey to be back', async () => {
      const { RestartCount: after, State: state } = await limits.inspect();
      return after > before && state.Running;
    });
    await limits.healthy();
    await allWell();
    // The third has not seen either of them before: what it knows, Valkey has kept.
    expect(gist(await listGrants(three, locked))).toBe(LIMITED);
    expect(tally(await spread(9, [three], (door) => reveal(door, counted)))).toEqual({
      '200': REVEALS - 15,
      [LIMITED]: 4,
    });
  });

  const data = (): string => `${scale.project}_data`;
  test.each<[string, () => Promise<unknown>, () => Promise<unknown>]>([
    ['stopped', () => limits.stop(), () => limits.start()],
    ['hanging', () => limits.pause(), () => limits.unpause()],
    ['cut off', () => limits.leave(data()), () => limits.join(data(), ['valkey'])],
    [
      'full',
      () => valkey(scale, 'CONFIG', 'SET', 'maxmemory', '1'),
      () => valkey(scale, 'CONFIG', 'SET', 'maxmemory', '0'),
    ],
  ])('%s: agents are served, limits go on, and it is used again when it is back', async (_, begin, end) => {
    const locked = await lockedOut(doors.direct);
    const [agent, spent, shared] = [
      await makeAgent(admin, 'granted'),
      await makeAgent(admin),
      await makeAgent(admin),
    ];
    await begin();
    try {
      // One that says nothing is missed when it is asked: nobody waits for it, then or later.
      for (const door of doors.direct) expect((await listGrants(door, agent, PATIENCE_MS)).status).toBe(200);
      await allDegraded();
      expect(await readiness(doors.proxy)).toBe('200 degraded');
      expect(
        tally(await spread(20, doors.all, (door) => askFor(door, agent, 'granted', PATIENCE_MS))),
      ).toEqual({
        '307': 20,
      });
      for (const door of doors.direct) {
        expect(gist(await listGrants(door, locked, PATIENCE_MS))).toBe(LIMITED);
        // Nobody gets past the limit at any one of them.
        expect(tally(await spread(REVEALS + 5, [door], (each) => reveal(each, spent)))).toEqual({
          '200': REVEALS,
          [LIMITED]: 5,
        });
        expect(tally(await spread(7, [door], (each) => reveal(each, shared)))).toEqual({ '200': 7 });
      }
    } finally {
      await end();
    }
    await allWell();
    for (const door of doors.all) {
      expect(gist(await reveal(door, spent))).toBe(LIMITED);
      expect(gist(await listGrants(door, locked))).toBe(LIMITED);
    }
    // Each tells what it has counted alone: 3 times 7 are more than there is room for.
    const answers = [];
    for (const door of doors.direct) answers.push(gist(await reveal(door, shared)));
    expect(answers).toEqual(['200', '200', LIMITED]);
    for (const door of doors.all) expect(gist(await reveal(door, shared))).toBe(LIMITED);
  });
});

describe('the proxy', () => {
  test('killed under calls: it comes back by itself, and nothing behind it has noticed', async () => {
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
        await admin('GET', '/api/me', { patienceMs: PATIENCE_MS }).then(
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
        admin('GET', '/api/me', { patienceMs: PATIENCE_MS }).then(
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
  ])('%s of three: the proxy leaves it out, and takes it back', async (_, names) => {
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

  test('decides what waited for it by what holds when it goes on', async () => {
    const agent = await makeAgent(admin, 'granted');
    const [one, two] = doors.direct;
    expect(gist(await askFor(two, agent, 'granted'))).toBe('307');
    let waited: Promise<Answer> | undefined;
    await whileStill(['control-plane-2'], async () => {
      waited = askFor(two, agent, 'granted');
      await done(bearer(one, scale.adminKey)('POST', `/api/agents/${agent.id}/suspend`));
    });
    expect(waited === undefined ? '' : gist(await waited)).toBe('403 AGENT_INACTIVE');
  });
});
