import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getContainerRuntimeClient } from 'testcontainers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RAISED_LIMITS } from '../../../src/raised-limits.ts';
import { IMAGES } from '../engine/images.ts';
import { until } from '../engine/machine.ts';
import { holdAgainst } from './check.ts';
import { LOAD_WEBHOOK_ENV, type World, makeWorld } from './world.ts';
import { startLoad } from './load.ts';
import { allWorksAgain, proxyStatus } from './recovery.ts';
import { CONTROL_PLANES, type ControlPlaneName, type Scale, startScale } from '../scale/scale.ts';

let scale: Scale;
let world: World;
beforeAll(async () => {
  scale = await startScale({ env: RAISED_LIMITS, webhookEnv: LOAD_WEBHOOK_ENV });
  world = await makeWorld(scale, { readers: 3, proxies: 3 });
});
afterAll(async () => {
  await world?.remove();
  await scale?.remove();
  await (
    await engine()
  )
    .getImage(NEXT_IMAGE)
    .remove()
    .catch(() => undefined);
});

const crash = (service: string) => async (): Promise<void> => (await scale.service(service)).crash();
const allRefuse = async (): Promise<void> => {
  for (const name of CONTROL_PLANES)
    await until(`${name} to say that it is not ready`, async () => (await scale.readiness(name)) !== 'ok');
};
const noneCalls = async (): Promise<void> => {
  for (const name of CONTROL_PLANES)
    await until(`${name} to miss the webhook`, async () => (await proxyStatus(world, name)) === 502);
};

/** What breaks, and, where no part starts again by itself, its end. */
const FAULTS: readonly (readonly [what: string, fault: () => Promise<void>])[] = [
  ['kill -9 of a control plane', crash('control-plane-2')],
  ['kill -9 of PostgreSQL', crash('postgres')],
  [
    'a restart of PostgreSQL',
    async () => {
      const postgres = await scale.service('postgres');
      await postgres.stop(60);
      await postgres.start();
    },
  ],
  [
    'a PostgreSQL that hangs',
    async () => {
      const postgres = await scale.service('postgres');
      await postgres.pause();
      await allRefuse();
      await postgres.unpause();
    },
  ],
  ['kill -9 of Valkey', crash('valkey')],
  ['kill -9 of the reverse proxy', crash('proxy')],
  ['kill -9 of the webhook', () => scale.elsewhere.webhook.crash()],
  ["kill -9 of the webhook's reverse proxy", () => scale.elsewhere.proxy.crash()],
  [
    'a partition between the control planes and the webhook',
    async () => {
      await scale.cutOff();
      await noneCalls();
      await scale.rejoin();
    },
  ],
  [
    'one control plane that is cut off from PostgreSQL',
    async () => {
      const [one, network] = [await scale.service('control-plane-3'), `${scale.project}_data`];
      await one.leave(network);
      await until(
        'it to say that it is not ready',
        async () => (await scale.readiness('control-plane-3')) !== 'ok',
      );
      await one.join(network);
    },
  ],
];

test.each(FAULTS)(
  'nothing that was answered is lost by %s under load, and all comes back',
  async (_, fault) => {
    const load = startLoad(world, { writers: 3 });
    try {
      await load.goOn(10);
      load.broken();
      await fault();
      await allWorksAgain(world);
      load.mended();
      await load.goOn(10);
      expect(await holdAgainst(world, await load.stop())).toEqual([]);
    } finally {
      // A fault that cannot be made must not leave its load to the tests after it.
      await load.stop();
    }
  },
);

const NEXT_IMAGE = 'svault-control-plane:next';
const engine = async () => (await getContainerRuntimeClient()).container.dockerode;

/** The same program in a separate image, as the next version would be. */
async function makeNextImage(): Promise<void> {
  const docker = await engine();
  const container = await docker.createContainer({ Image: IMAGES['control-plane'] });
  const [repo, tag] = NEXT_IMAGE.split(':');
  await container.commit({ repo, tag, changes: 'LABEL version=next' });
  await container.remove();
}

/** As docs/operate/upgrades.md says. @returns the exit code of the one that went */
async function upgrade(name: ControlPlaneName): Promise<number> {
  const exitCode = await (await scale.service(name)).stop();
  await scale.compose('up', '-d', '--no-deps', name);
  await until(`${name} to be ready`, async () => (await scale.readiness(name)) === 'ok');
  return exitCode;
}

/**
 * An event stream of the upstream, read through a proxy until it ends.
 *
 * @param method POST: the answer to a call; GET: one that answers no call
 * @returns whether it has ended, and how
 */
async function openStream(method: 'POST' | 'GET'): Promise<() => 'open' | 'ended' | 'torn'> {
  const call = JSON.stringify({ jsonrpc: '2.0', id: 'stream', method: 'stream', params: {} });
  const answer = await scale.send(`${scale.url}/api/proxy/mcp`, {
    method,
    headers: {
      authorization: `Bearer ${world.probe.key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    ...(method === 'POST' && { body: call }),
  });
  if (answer.status !== 200) throw new Error(`a stream was answered ${answer.status}`);
  let state: 'open' | 'ended' | 'torn' = 'open';
  answer.text().then(
    () => (state = 'ended'),
    () => (state = 'torn'),
  );
  return () => state;
}

test('a rolling upgrade fails no request, leaves nothing unaudited and ends streams in order', async () => {
  await makeNextImage();
  const env = join(scale.folder, '.env');
  const text = readFileSync(env, 'utf8');
  writeFileSync(env, `${text}\nSVAULT_CONTROL_PLANE_IMAGE=${NEXT_IMAGE}\n`);
  const load = startLoad(world, { writers: 3 });
  await load.goOn(10);
  const methods = ['POST', 'GET', 'POST', 'GET', 'POST', 'GET'] as const;
  const streams = await Promise.all(methods.map(openStream));
  const exitCodes = [];
  for (const name of CONTROL_PLANES) {
    exitCodes.push(await upgrade(name));
    await load.goOn(10);
  }
  await until('the end of the streams', async () => streams.every((state) => state() !== 'open'));
  const run = await load.stop();

  expect(exitCodes).toEqual([0, 0, 0]);
  expect(streams.map((state) => state())).toEqual(streams.map(() => 'ended'));
  const problems = await holdAgainst(world, run).catch(async (error: unknown) => {
    throw new Error(`nothing can be held against: ${await scale.logs()}`, { cause: error });
  });
  expect(problems, await scale.logs()).toEqual([]);
  for (const name of CONTROL_PLANES)
    expect((await (await scale.service(name)).inspect()).Config.Image).toBe(NEXT_IMAGE);
});
