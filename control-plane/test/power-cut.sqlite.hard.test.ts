import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { storeCredential } from '@svault/compose/admin-client';
import { freePort } from '@svault/compose/free-port';
import { type Pair, type PairOptions, startPair } from '@svault/compose/pair';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import type { ProgramName } from '@svault/compose/program-process';
import { canRecord, recordedInto } from '@svault/test-kit/power-cut';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pathFor } from './support/pair-agents.ts';
import { databaseBefore, lossesOf } from './support/power-cuts.ts';

// R3: what a program has answered, delivered or injected is on its disk, at whichever instant the power fails.

const CALLERS_OF_EACH_KIND = 6;
const MIN_ROUNDS = 15;
const ROUNDS_BEFORE_CHECKPOINTS = 5;
/** Of each database, under load. */
const CHECKPOINTS = 2;

const numbered = (kind: string): readonly string[] =>
  Array.from({ length: CALLERS_OF_EACH_KIND }, (_, index) => `${kind}-${index}`);
const fetched = numbered('fetched');
const proxied = numbered('proxied');

/** Makes one use, to its end. */
type Use = () => Promise<void>;

describe.skipIf(!canRecord())('a power cut under load', () => {
  const dir = tempDir();
  const inDir = (name: string): string => join(dir.path, name);
  const databases = {
    controlPlane: inDir('pair/control-plane.db'),
    webhook: inDir('pair/webhook/webhook.db'),
  };
  const records = { controlPlane: inDir('control-plane.trace'), webhook: inDir('webhook.trace') };
  const before: Partial<Record<keyof typeof databases, ReadonlyMap<string, Buffer>>> = {};
  const upstream = createServer(({ url }, res) => res.end(`[answer for ${url?.slice(1)}]`));
  let uses = 0;

  beforeAll(async () => {
    await once(upstream.listen(0, '127.0.0.1'), 'listening');
    const upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    const options: PairOptions = {
      dir: inDir('pair'),
      controlPlanePort: await freePort(),
      webhookPort: await freePort(),
      env: { SV_LOG_LEVEL: 'error', ...RAISED_LIMITS },
    };
    // All that is made before is on the disk when the records begin.
    const unrecorded = await startPair(options);
    const callers = await makeCallers(unrecorded, upstreamUrl);
    await unrecorded.stop();
    before.controlPlane = databaseBefore(databases.controlPlane);
    before.webhook = databaseBefore(databases.webhook);
    const launcher = {
      'control-plane': recordedInto(records.controlPlane),
      webhook: recordedInto(records.webhook),
    };
    const pair = await startPair({ ...options, launcher });
    const haveCheckpoints = (): boolean =>
      (['controlPlane', 'webhook'] as const).every(
        (program) => checkpointsIn(records[program], databases[program]) > CHECKPOINTS,
      );
    try {
      for (let round = 0; round < MIN_ROUNDS || !haveCheckpoints(); round++) {
        if (round === ROUNDS_BEFORE_CHECKPOINTS) await growLogs(pair);
        await Promise.all(callers.map((use) => use()));
        uses += callers.length;
      }
    } finally {
      for (const program of ['control-plane', 'webhook'] as const) killRecorded(pair, program);
      await pair.stop();
    }
  });
  afterAll(() => {
    upstream.close();
    dir.remove();
  });

  it('loses no ticket that the control plane answered, and no use whose answer it passed on', async () => {
    const { lost, promised, cuts, checkpoints } = await lossesOf({
      record: records.controlPlane,
      before: before.controlPlane!,
      promisedBy: (sending) => [...ticketsIn(sending), ...namesIn(sending, /\[answer for ([\w-]+)\]/g)],
      kept: `SELECT service_name AS name, count(*) AS times FROM audit_events WHERE outcome = 'success'
        AND event_type IN ('AGENT_CREDENTIAL_ACCESS', 'PROXY_CREDENTIAL_USE') GROUP BY 1`,
    });
    expect(lost).toEqual([]);
    expect(promised).toBe(uses);
    expect(cuts).toBeGreaterThan(uses);
    expect(checkpoints).toBeGreaterThanOrEqual(CHECKPOINTS);
  });

  it('loses no credential that the webhook delivered or injected, and no claim of a ticket', async () => {
    const { lost, promised, cuts, checkpoints } = await lossesOf({
      record: records.webhook,
      before: before.webhook!,
      promisedBy: (sending) => namesIn(sending, /\[secret:([\w-]+)\]/g).flatMap((name) => [name, 'a claim']),
      kept: `SELECT service_name AS name, count(*) AS times FROM audit_log WHERE source = 'webhook'
          AND event_type IN ('CREDENTIAL_DELIVERED', 'CREDENTIAL_INJECTED') GROUP BY 1
        UNION ALL SELECT 'a claim', count(*) FROM claims`,
    });
    expect(lost).toEqual([]);
    expect(promised).toBe(2 * uses);
    expect(cuts).toBeGreaterThan(uses);
    expect(checkpoints).toBeGreaterThanOrEqual(CHECKPOINTS);
  });
});

/** Agents that fetch a credential each, and proxies that inject one each. */
async function makeCallers(pair: Pair, upstreamUrl: string): Promise<readonly Use[]> {
  const uses: Use[] = [];
  for (const serviceName of [...fetched, ...proxied])
    await storeCredential(pair.admin, serviceName, {
      tokenType: 'PlainText',
      value: `[secret:${serviceName}]`,
      allowedHosts: [upstreamUrl],
    });
  for (const serviceName of fetched) {
    const { agent, apiKey } = await pair.admin.call<{ agent: { id: string }; apiKey: string }>(
      'POST',
      '/api/agents',
      { name: serviceName },
    );
    await pair.admin.call('POST', `/api/agents/${agent.id}/grants`, { serviceName });
    uses.push(() => take(pair.controlPlaneUrl + pathFor(serviceName), apiKey, `[secret:${serviceName}]`));
  }
  for (const serviceName of proxied) {
    const { key } = await pair.admin.call<{ key: string }>('POST', '/api/proxies', {
      name: serviceName,
      upstreamUrl: `${upstreamUrl}/${serviceName}`,
      upstreamAuthType: 'Token',
      serviceName,
    });
    uses.push(() => take(`${pair.controlPlaneUrl}/api/proxy/mcp`, key, `[answer for ${serviceName}]`));
  }
  return uses;
}

/** How often a database's file was synced by a record so far, which only a checkpoint does. */
function checkpointsIn(record: string, database: string): number {
  const path = Buffer.from(database).toString('hex').replaceAll(/../g, '\\\\x$&');
  return readFileSync(record, 'latin1').match(new RegExp(`sync\\(\\d+<${path}>`, 'g'))?.length ?? 0;
}

/** Writes several megabytes to both databases, so that the checkpoints of their logs begin. */
async function growLogs({ admin }: Pair): Promise<void> {
  const create = (index: number) =>
    admin.call('POST', '/api/agents', { name: `large ${index}`, description: 'x'.repeat(1_000) });
  const store = (index: number) =>
    storeCredential(admin, `large-${index}`, { tokenType: 'PlainText', value: 'x'.repeat(60_000) });
  await Promise.all([
    ...Array.from({ length: 80 }, (_, index) => create(index)),
    ...Array.from({ length: 40 }, (_, index) => store(index)),
  ]);
}

/** Ends a program that strace runs, which writes its record to the end. */
function killRecorded(pair: Pair, program: ProgramName): void {
  const { pid } = pair.process(program).child;
  for (const child of readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' '))
    process.kill(Number(child), 'SIGKILL');
}

async function take(url: string, key: string, wanted: string): Promise<void> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  const text = await answer.text();
  if (!text.includes(wanted)) throw new Error(`${url} answered ${answer.status}: ${text}`);
}

const namesIn = (sending: Buffer, pattern: RegExp): string[] =>
  Array.from(sending.toString('latin1').matchAll(pattern), ([, name = '']) => name);

/** Of the redirect that an agent is answered with. */
function ticketsIn(sending: Buffer): string[] {
  if (!sending.subarray(0, 16).equals(Buffer.from('HTTP/1.1 307 Tem'))) return [];
  return namesIn(sending, /\nlocation: [^\r]*[?&]ticket=[\w-]+\.([\w-]+)\./gi).map((claims) => {
    const { svc } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { svc: string };
    return svc;
  });
}
