import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { AdminRefused } from '../../../src/admin-client.ts';
import { type Machine, until } from '../engine/machine.ts';
import { type PairAgent, pairAgent } from './pair-agent.ts';
import { type PairAndOutside, startPairAndOutside } from './pair-and-outside.ts';

let pair: PairAndOutside;
/** Made before anything stopped; a test that comes later finds it as it was. */
let first: PairAgent;
beforeAll(async () => {
  pair = await startPairAndOutside();
  first = await pairAgent(pair);
});
afterAll(() => pair?.remove());

/** Asks the control plane alone, whose answer counts against no agent's limit. */
const works = (): Promise<void> =>
  until('that both are there', async () => {
    try {
      const { reachable } = await pair.admin.call<{ reachable: boolean }>('GET', '/api/webhook');
      return reachable;
    } catch (error) {
      if (error instanceof AdminRefused && error.status < 500) throw error;
      return false;
    }
  });
beforeEach(works);

async function expectAllDoorsOpen(agent: PairAgent): Promise<void> {
  expect(await agent.fetchByRest()).toBe(agent.secret);
  expect(await agent.fetchByMcp()).toBe(agent.secret);
  expect((await agent.callByProxy()).status).toBe(200);
  expect((await pair.outside.lastCall()).authorization).toBe(`Bearer ${agent.secret}`);
}

const bindings = async (): Promise<number> => {
  const { items } = await pair.admin.call<{ items: readonly unknown[] }>(
    'GET',
    '/api/audit?eventType=WEBHOOK_BOUND',
  );
  return items.length;
};

const controlPlane = (): Promise<Machine> => pair.service('control-plane');
const webhook = (): Promise<Machine> => pair.service('webhook');

test('compose stop webhook is the kill switch: nothing is delivered at any endpoint until it is started again', async () => {
  const agent = await pairAgent(pair);
  const earlier = (await agent.ask()).headers.get('location') ?? '';
  const lastCall = await pair.outside.lastCall();
  await pair.compose('stop', 'webhook');
  try {
    await expect(fetch(earlier)).rejects.toThrow('fetch failed');
    // The control plane may not know yet: then it sends the agent on to where nobody is.
    const asked = await agent.ask();
    expect([307, 503]).toContain(asked.status);
    if (asked.status === 307)
      await expect(fetch(asked.headers.get('location') ?? '')).rejects.toThrow('fetch failed');

    const proxied = await agent.callByProxy();
    expect(proxied.status).toBe(502);
    expect(await proxied.json()).toMatchObject({ code: 'WEBHOOK_UNAVAILABLE' });

    const known = await agent.ask();
    expect(known.status).toBe(503);
    expect(Number(known.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await known.json()).toMatchObject({ code: 'WEBHOOK_UNAVAILABLE' });

    // The tool gives an address without asking who is there.
    await expect(agent.fetchByMcp()).rejects.toThrow('fetch failed');
    expect(await pair.outside.lastCall()).toEqual(lastCall);
  } finally {
    await pair.compose('start', 'webhook');
  }
  await works();
  await expectAllDoorsOpen(agent);
  expect(await bindings()).toBe(1);
});

test('SIGTERM stops both with exit code 0', async () => {
  for (const machine of [await controlPlane(), await webhook()]) {
    expect(await machine.stop()).toBe(0);
    await machine.start();
  }
  await works();
  await expectAllDoorsOpen(first);
});

test('after down and up both have the same data, and the pair is not bound again', async () => {
  const keysBefore = (await (await controlPlane()).run('sh', '-c', 'cat /keys/*/*')).output;
  await pair.compose('down');
  await pair.compose('up', '-d');
  const bind = await pair.service('bind');
  await until('the end of bind', async () => (await bind.inspect()).State.Status === 'exited');
  expect((await bind.inspect()).State.ExitCode).toBe(0);
  expect(await bind.logs()).toContain(`webhook        ${pair.webhookUrl}  (bound)`);
  expect((await (await controlPlane()).run('sh', '-c', 'cat /keys/*/*')).output).toBe(keysBefore);
  await works();
  expect(await bindings()).toBe(1);
  await expectAllDoorsOpen(first);
});

test.each(['control-plane', 'webhook'])(
  'a %s that is killed is back by itself, with what was stored',
  async (name) => {
    const agent = await pairAgent(pair);
    const machine = await pair.service(name);
    const restarts = (await machine.inspect()).RestartCount;
    await machine.crash();
    await works();
    await expectAllDoorsOpen(agent);
    await expectAllDoorsOpen(first);
    expect((await machine.inspect()).RestartCount).toBe(restarts + 1);
    expect(await bindings()).toBe(1);
    for (const program of ['control-plane', 'webhook']) {
      const { exitCode, output } = await (
        await pair.service(program)
      ).run('node', `/svault/${program}/dist/main.js`, 'audit', 'verify');
      expect(exitCode, output).toBe(0);
    }
  },
);

test('a webhook that comes back with another address is found there', async () => {
  const machine = await webhook();
  const network = `${pair.project}_default`;
  const addressOf = async (): Promise<string | undefined> =>
    (await machine.inspect()).NetworkSettings.Networks[network]?.IPAddress;
  const before = await addressOf();
  await machine.stop();
  // Takes the address that is free now.
  await pair.compose('run', '-d', '--no-deps', '--entrypoint', 'sleep', 'bind', '600');
  await machine.start();
  await works();
  expect(await addressOf()).not.toBe(before);
  await expectAllDoorsOpen(first);
});
