import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { storeCredential } from '@svault/compose/admin-client';
import { type Pair, startPair } from '@svault/compose/pair';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { tempDir } from '@svault/test-kit/temp-dir';
import { expect } from 'vitest';
import { startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { databasePath, inDatabase } from './database-files.ts';

/** The longest wait after the answer that a kill follows: it falls anywhere within the calls under way. */
const MAX_DELAY_MS = 8;
const PROGRAMS = ['control-plane', 'webhook'] as const;
const CREDENTIAL = 'a credential of the crash drill';

/**
 * Kills one program of a pair after the other at random instants while callers use a proxy, and starts it again.
 * Afterwards each use of the credential is in both logs, once.
 *
 * @returns how many calls were answered by the upstream
 */
export async function proxiedCrashDrill(options: {
  readonly kills: number;
  readonly callers: number;
}): Promise<number> {
  const dir = tempDir();
  let used = 0;
  const upstream = await startPlainUpstream((req, res) => {
    if (req.headers.authorization === `Bearer ${CREDENTIAL}`) used += 1;
    res.end('{}');
  });
  const pair = await startPair({ dir: dir.path, env: { SV_LOG_LEVEL: 'error', ...RAISED_LIMITS } });
  try {
    await storeCredential(pair.admin, 'upstream', {
      tokenType: 'PlainText',
      value: CREDENTIAL,
      allowedHosts: [upstream.origin],
    });
    const settings = {
      name: 'p',
      upstreamUrl: upstream.url,
      upstreamAuthType: 'Token',
      serviceName: 'upstream',
    };
    const { key } = await pair.admin.call<{ key: string }>('POST', '/api/proxies', settings);
    const load: Load = { key, callers: options.callers, answers: 0 };
    for (let round = 0; round < options.kills; round++)
      await killUnderLoad(pair, PROGRAMS[round % 2] ?? 'webhook', load);
    await pair.stop();

    const injected = inDatabase(join(dir.path, 'webhook', 'webhook.db'), (db) =>
      db
        .prepare<[], string>(
          `SELECT json_extract(detail, '$.jti') FROM audit_log
           WHERE event_type = 'CREDENTIAL_INJECTED' AND outcome = 'success' ORDER BY 1`,
        )
        .pluck()
        .all(),
    );
    const recorded = inDatabase(databasePath({ dir: dir.path }), (db) =>
      db
        .prepare<[], string>(
          `SELECT request_id FROM audit_events
           WHERE event_type = 'PROXY_CREDENTIAL_USE' AND outcome = 'success' ORDER BY 1`,
        )
        .pluck()
        .all(),
    );
    expect(new Set(injected).size).toBe(injected.length);
    expect(new Set(recorded).size).toBe(recorded.length);
    expect(injected.filter((id) => !recorded.includes(id))).toEqual([]);
    expect(used).toBeLessThanOrEqual(injected.length);
    expect(load.answers).toBeLessThanOrEqual(used);
    return load.answers;
  } finally {
    await pair.stop();
    await upstream.close();
    dir.remove();
  }
}

interface Load {
  readonly key: string;
  readonly callers: number;
  /** So many of the calls the upstream has answered. */
  answers: number;
}

async function killUnderLoad(pair: Pair, program: (typeof PROGRAMS)[number], load: Load): Promise<void> {
  const { key, callers } = load;
  let killed: Promise<unknown> | undefined;
  let isOver = false;
  const killAt = load.answers + randomInt(1, 2 * callers);
  const call = async (): Promise<void> => {
    while (!isOver) {
      const response = await fetch(`${pair.controlPlaneUrl}/api/proxy/mcp`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
      }).catch(() => undefined);
      await response?.text().catch(() => undefined);
      if (response?.status === 200) load.answers += 1;
      // Without an answer the program that was killed is away.
      else await delay(20);
      if (load.answers < killAt) continue;
      killed ??= delay(randomInt(MAX_DELAY_MS + 1)).then(() => pair.process(program).kill());
      await killed;
      isOver = true;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  await killed;
  await pair.restart(program);
}
