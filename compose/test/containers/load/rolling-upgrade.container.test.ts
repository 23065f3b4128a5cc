import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getContainerRuntimeClient } from 'testcontainers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RAISED_LIMITS } from '../../../src/raised-limits.ts';
import { until } from '../engine/machine.ts';
import { IMAGES } from '../engine/images.ts';
import { holdAgainst } from './check.ts';
import { openStream } from './streams.ts';
import { LOAD_WEBHOOK_ENV, type World, makeWorld } from './world.ts';
import { startLoad } from './load.ts';
import { CONTROL_PLANES, type ControlPlaneName, type Scale, startScale } from '../scale/scale.ts';

const NEXT_IMAGE = 'svault-control-plane:next';

let scale: Scale;
let world: World;
beforeAll(async () => {
  await makeNextImage();
  scale = await startScale({ env: RAISED_LIMITS, webhookEnv: LOAD_WEBHOOK_ENV });
  world = await makeWorld(scale, { readers: 3, proxies: 3 });
});
afterAll(async () => {
  await world?.remove();
  await scale?.remove();
  await (await engine()).getImage(NEXT_IMAGE).remove();
});

const engine = async () => (await getContainerRuntimeClient()).container.dockerode;

/** The same program in an image of its own, as the next version is one. */
async function makeNextImage(): Promise<void> {
  const docker = await engine();
  const container = await docker.createContainer({ Image: IMAGES['control-plane'] });
  const [repo, tag] = NEXT_IMAGE.split(':');
  await container.commit({ repo, tag, changes: 'LABEL version=next' });
  await container.remove();
}

/** As compose/README.md tells operators to. @returns the exit code of the one that went */
async function upgrade(name: ControlPlaneName): Promise<number> {
  const exitCode = await (await scale.service(name)).stop();
  await scale.compose('up', '-d', '--no-deps', name);
  await until(`${name} to be ready`, async () => (await scale.readiness(name)) === 'ok');
  return exitCode;
}

test('a rolling upgrade fails no request, leaves nothing unaudited and ends streams in order', async () => {
  const env = join(scale.folder, '.env');
  const text = readFileSync(env, 'utf8');
  writeFileSync(env, `${text}\nSVAULT_CONTROL_PLANE_IMAGE=${NEXT_IMAGE}\n`);
  const load = startLoad(world, { writers: 3 });
  await load.goOn(10);
  const streams = await Promise.all(
    (['answering', 'standing', 'answering', 'standing', 'answering', 'standing'] as const).map((kind) =>
      openStream(world, kind),
    ),
  );
  const exitCodes = [];
  for (const name of CONTROL_PLANES) {
    exitCodes.push(await upgrade(name));
    await load.goOn(10);
  }
  await until('the end of the streams', async () => streams.every(({ state }) => state() !== 'open'));
  const run = await load.stop();

  expect(exitCodes).toEqual([0, 0, 0]);
  expect(streams.map(({ state }) => state())).toEqual(streams.map(() => 'ended'));
  const problems = await holdAgainst(world, run).catch(async (error: unknown) => {
    throw new Error(`nothing can be held against: ${await scale.logs()}`, { cause: error });
  });
  expect(problems, await scale.logs()).toEqual([]);
  for (const name of CONTROL_PLANES)
    expect((await (await scale.service(name)).inspect()).Config.Image).toBe(NEXT_IMAGE);
});
