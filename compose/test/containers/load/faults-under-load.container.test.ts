import { afterAll, beforeAll, expect, test } from 'vitest';
import { RAISED_LIMITS } from '../../../src/raised-limits.ts';
import { until } from '../engine/machine.ts';
import { holdAgainst } from './check.ts';
import { LOAD_WEBHOOK_ENV, type World, makeWorld } from './world.ts';
import { startLoad } from './load.ts';
import { allWorksAgain, proxyStatus } from './recovery.ts';
import { CONTROL_PLANES, type Scale, startScale } from '../scale/scale.ts';

let scale: Scale;
let world: World;
beforeAll(async () => {
  scale = await startScale({ env: RAISED_LIMITS, webhookEnv: LOAD_WEBHOOK_ENV });
  world = await makeWorld(scale, { readers: 3, proxies: 3 });
});
afterAll(async () => {
  await world?.remove();
  await scale?.remove();
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
    await load.goOn(10);
    load.broken();
    await fault();
    await allWorksAgain(world);
    load.mended();
    await load.goOn(10);
    expect(await holdAgainst(world, await load.stop())).toEqual([]);
  },
);
