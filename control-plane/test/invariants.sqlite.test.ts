import { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type Pair, startPair as startProcesses } from '@svault/compose/pair';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { crashDrill } from './support/crash-drill.ts';
import { databasePath, inCopy } from './support/database-files.ts';
import { clientOf } from './support/management-service.ts';
import { agentOn } from './support/pair-agents.ts';
import { storedState } from './support/stored-state.ts';

// The promises of invariants.test.ts that are about SQLite's file.

describe('the pair in one process', () => {
  let pair: TestPair;
  beforeAll(async () => {
    pair = await startPair();
  });
  afterAll(() => pair.close());
  afterEach(() => vi.restoreAllMocks());

  /** Accesses of an agent that would be found after a crash at this moment. */
  const successesInCopy = (agentId: string): number =>
    inCopy(databasePath(pair), (db) =>
      db
        .prepare<[string], number>(
          "SELECT count(*) FROM audit_events WHERE agent_id = ? AND event_type = 'AGENT_CREDENTIAL_ACCESS'",
        )
        .pluck()
        .get(agentId),
    ) ?? 0;

  test('9: the row is written before the redirect leaves', async () => {
    const agent = await agentOn(pair, 'github');
    const writeHead = ServerResponse.prototype.writeHead;
    const atRedirect: number[] = [];
    vi.spyOn(ServerResponse.prototype, 'writeHead').mockImplementation(function (
      this: ServerResponse,
      ...args: unknown[]
    ) {
      if (args[0] === 307) atRedirect.push(successesInCopy(agent.id));
      return Reflect.apply(writeHead, this, args) as ServerResponse;
    });
    for (const atOnce of [1, 1, 5])
      await Promise.all(Array.from({ length: atOnce }, () => agent.ask('github')));
    expect(atRedirect).toHaveLength(7);
    // The n-th redirect may leave when n rows can be read from the files as they lie on the disk.
    for (const [index, rows] of atRedirect.entries()) expect(rows).toBeGreaterThan(index);
  });
});

describe('the pair as two processes', () => {
  const dir = tempDir();
  let pair: Pair;
  beforeAll(async () => {
    pair = await startProcesses({ dir: dir.path, env: { SV_LOG_LEVEL: 'error', ...RAISED_LIMITS } });
  });
  afterAll(async () => {
    await pair.stop();
    dir.remove();
  });

  test('10: kill -9 under load loses nothing that was answered', async () => {
    await crashDrill(pair, {
      state: storedState(`sqlite:${join(dir.path, 'control-plane.db')}`),
      dir: dir.path,
      callers: 8,
      kills: 3,
      answersBeforeKill: (round) => 20 + 200 * round,
    });
    // 660 durable answers and four starts, on machines that have other work too.
  });

  test('11: a second serve is refused, other subcommands work beside the first', async () => {
    await expect(pair.run('control-plane', 'serve')).rejects.toThrow('another process already serves');
    const results = await Promise.all([
      pair.run('control-plane', 'owner-link'),
      pair.run('control-plane', 'audit', 'verify'),
      pair.run('control-plane', 'backup', `${dir.path}/backup.db`),
    ]);
    expect(results).toEqual([
      expect.stringContaining('/login/link?token='),
      expect.stringContaining('intact'),
      expect.stringContaining('Wrote'),
    ]);
    expect((await clientOf(pair.controlPlaneUrl)('GET', '/readyz')).status).toBe(200);
  });
});
