import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fromBase64url, randomToken } from '@svault/shared';
import { backUpThroughKills } from '@svault/test-kit/back-up-through-kills';
import { createKiller, timeOfWork } from '@svault/test-kit/kill-in-work';
import { tempDir } from '@svault/test-kit/temp-dir';
import { expect, onTestFinished } from 'vitest';
import { type Place, makePlace, serveOn } from './management-service.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const AGENTS = 10;

/** A place with agents, whose keys are all that a control plane encrypts. */
async function filled() {
  const place = await makePlace();
  onTestFinished(() => place.remove());
  const keys = new Map<string, string>();
  const service = await serveOn(place);
  for (let count = 0; count < AGENTS; count += 1) {
    const { json } = await service.admin('POST', '/api/agents', { body: { name: `agent ${count}` } });
    keys.set(json.agent.id, json.apiKey);
  }
  await service.running.close();
  /** Starts it, and reads every key. */
  const readAll = async (env: Place['env']): Promise<void> => {
    const again = await serveOn({ ...place, env });
    try {
      for (const [id, apiKey] of keys)
        expect((await again.admin('POST', `/api/agents/${id}/reveal-key`)).json).toEqual({ apiKey });
    } finally {
      await again.running.close();
    }
  };
  return { place, readAll };
}

/** Kills `backup`; after each kill the control plane starts and has all of its keys. */
export async function killBackups(kills: number): Promise<void> {
  const { place, readAll } = await filled();
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  const { databasePath, env } = place;
  const masterKey = fromBase64url(env['SV_MASTER_KEY'] ?? '') ?? new Uint8Array();
  const halfDone = await backUpThroughKills(
    { program: 'control-plane', main: MAIN, env, databasePath, masterKey, folder: dir.path },
    kills,
    () => readAll(env),
  );
  expect(halfDone).toBeGreaterThan(0);
}

/**
 * Kills `rotate-master-key`, which is one transaction of one row; after each kill the former key or the next one opens the
 * database, and with both set it starts.
 */
export async function killRotations(kills: number): Promise<void> {
  const { place, readAll } = await filled();
  const log = `${place.databasePath}-wal`;
  let present = place.env;
  const rotation = () => ({
    main: MAIN,
    words: ['rotate-master-key'],
    env: { ...present, SV_MASTER_KEY_NEXT: randomToken(32) },
    begun: () => existsSync(log),
  });
  const withNext = (env: ReturnType<typeof rotation>['env']): Place['env'] => {
    const { SV_MASTER_KEY_NEXT, ...others } = env;
    return { ...others, SV_MASTER_KEY: SV_MASTER_KEY_NEXT };
  };
  const first = rotation();
  const killInWork = createKiller(await timeOfWork(first));
  present = withNext(first.env);
  for (let left = kills; left > 0;) {
    const next = rotation();
    if (await killInWork(next)) left -= 1;
    await readAll(next.env);
    expect((await opening(present, readAll)) + (await opening(withNext(next.env), readAll))).toBe(1);
    // Run again, it ends with the next key alone.
    await timeOfWork(next);
    present = withNext(next.env);
    await readAll(present);
  }
}

/** @returns 1 where it starts */
async function opening(env: Place['env'], readAll: (env: Place['env']) => Promise<void>): Promise<0 | 1> {
  try {
    await readAll(env);
    return 1;
  } catch (error) {
    expect((error as Error).message).toContain('SV_MASTER_KEY does not open this database');
    return 0;
  }
}
