import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { silentLogger } from '@svault/server-kit/logger';
import { ManualClock, hashKey, newId, newKey } from '@svault/shared';
import { memoryInUse } from '@svault/test-kit/memory-in-use';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAX_WAITING } from '../../src/access/approval-waiters.ts';
import { controlPlaneConfig } from '../../src/config/config.ts';
import { rootKeysOf } from '../../src/context.ts';
import { openDatabase } from '../../src/store/open-database.ts';
import { storeAccess } from '../store/stored-access.ts';
import { type ManagementService, type Place, makePlace, serveOn } from '../support/management-service.ts';
import { pathFor } from '../support/pair-agents.ts';

// As many requests wait as a process lets wait, with what their connections and this process's ends of them take.

const MIB = 1024 * 1024;
const ACCOUNTS = MAX_WAITING.ofProcess / MAX_WAITING.ofAccount;
const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
let service: ManagementService;
let keys: readonly string[];

beforeAll(async () => {
  const place = await makePlace();
  keys = await agentsHeldBack(place);
  // Their webhooks are nowhere, so no job has anything to do.
  service = await serveOn(place, clock, { startJob: () => ({ stop: () => Promise.resolve() }) });
});
afterAll(() => service.stop());

/** An agent in each of many accounts, whose requests a policy holds back. @returns their keys */
async function agentsHeldBack({ env }: Place): Promise<string[]> {
  const config = controlPlaneConfig(env);
  const database = await openDatabase(config.database, rootKeysOf(config), {
    ...{ clock, logger: silentLogger, opener: 'server' },
  });
  const made: string[] = [];
  for (let n = 0; n < ACCOUNTS; n++) {
    const { vaultId, agentId } = await storeAccess(database, clock);
    const key = newKey('svagent');
    const times = { createdAt: '2026-11-20T12:00:00.000Z', updatedAt: '2026-11-20T12:00:00.000Z' };
    const policy = { id: newId('pol'), vaultId, name: 'people decide', enabled: true, ...times };
    await database.unitOfWork.run(vaultId, async ({ agents, policies }) => {
      const stored = { keyHash: hashKey(key), keyPrefix: 'svagent_', keyWrapped: 'wrapped' };
      await agents.setKey(vaultId, agentId, stored);
      const held = { ...policy, rules: [{ id: newId('rul'), type: 'manual_approval' as const }] };
      await policies.add(held);
      await policies.attach(held, { type: 'agent', id: agentId });
    });
    made.push(key);
  }
  await database.close();
  return made;
}

async function askAndWait(key: string): Promise<Socket> {
  const { hostname, port } = new URL(service.running.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const path = `${pathFor('github')}&wait=30&reason=${'x'.repeat(500)}`;
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${key}\r\n\r\n`);
  return socket;
}

/** Resolves with the first line of an answer. */
const answered = async (socket: Socket): Promise<string> =>
  ((await once(socket, 'data')) as [Buffer])[0].toString().split('\r\n', 1)[0] ?? '';

test('a thousand requests that wait take less than 64 MiB, and one more is denied at once', async () => {
  // What the first request loads is no part of it.
  (await askAndWait(keys[0] ?? '')).destroy();
  const before = memoryInUse();
  const waiting: Socket[] = [];
  for (const key of keys) for (let n = 0; n < MAX_WAITING.ofAccount; n++) waiting.push(await askAndWait(key));
  let answers = 0;
  for (const socket of waiting) socket.once('data', () => (answers += 1));
  const oneMore = async () => answered(await askAndWait(keys.at(-1) ?? ''));
  await expect.poll(oneMore, { timeout: 20_000, interval: 1_000 }).toBe('HTTP/1.1 403 Forbidden');
  const taken = (memoryInUse() - before) / MIB;
  process.stdout.write(`${waiting.length} requests that wait take ${taken.toFixed(1)} MiB\n`);
  expect(taken).toBeLessThan(64);
  expect(answers).toBe(0);
  for (const socket of waiting) socket.destroy();
}, 120_000);
