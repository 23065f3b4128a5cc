import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type AdminClient, createAdminClient } from '@svault/compose/admin-client';
import { freePort } from '@svault/compose/free-port';
import type { Pair } from '@svault/compose/pair';
import { type LoadResult, quantile, runLoad } from '../load.ts';
import { LOAD_CORE } from '../machine.ts';
import type { Row } from '../report.ts';
import { median } from '../rounds.ts';
import { startServer } from '../server-process.ts';
import { TARGETS } from '../targets.ts';
import { controlPlaneContenders } from './control-plane.ts';

const WEBHOOK = fileURLToPath(new URL('../hostile-webhook.ts', import.meta.url));
const REQUESTS_PER_SECOND = 200;
const TOKENS = 100;
/** Lists that the hostile account asks for all the time; each has the control plane call its webhook. */
const LISTS_AT_ONCE = 3;
const LIST_PAUSE_MS = 100;
const HEALTH_PAUSE_MS = 20;

interface Round {
  readonly load: LoadResult;
  readonly healthMs: readonly number[];
}

/**
 * What an account whose webhook answers lists with 4 MB costs another account, and `/healthz`: the same requests of both, in turn
 * with the webhook honest and hostile.
 *
 * @param hostileKey admin key of an account that has no webhook yet
 */
export async function hostileWebhookRows(
  pair: Pair,
  hostileKey: string,
  {
    rounds,
    seconds,
    connections,
  }: { readonly rounds: number; readonly seconds: number; readonly connections: number },
): Promise<readonly Row[]> {
  const port = await freePort();
  const webhookUrl = `http://127.0.0.1:${port}`;
  const server = await startServer({
    args: [WEBHOOK, String(port)],
    readyUrl: `${webhookUrl}/v1/health`,
    core: LOAD_CORE,
  });
  try {
    const hostile = createAdminClient(pair.controlPlaneUrl, hostileKey);
    await bindAndFill(hostile, webhookUrl);
    const { credentials } = await controlPlaneContenders(pair);
    const measure = async (mode: 'honest' | 'hostile', forSeconds: number): Promise<Round> => {
      await fetch(`${webhookUrl}/mode/${mode}`, { method: 'POST' });
      const going = new AbortController();
      const lists = askForLists(hostile, going.signal);
      const health = watchHealth(pair.controlPlaneUrl, going.signal);
      const { url, expectedStatus } = credentials;
      const load = await runLoad({
        url,
        source: credentials.prepare(),
        expectedStatus,
        connections,
        seconds: forSeconds,
        requestsPerSecond: REQUESTS_PER_SECOND,
      });
      going.abort();
      await lists;
      return { load, healthMs: await health };
    };
    await measure('honest', seconds);
    const results: Record<'honest' | 'hostile', Round[]> = { honest: [], hostile: [] };
    for (let round = 0; round < rounds; round++)
      for (const mode of ['honest', 'hostile'] as const) results[mode].push(await measure(mode, seconds));
    const p99 = (mode: 'honest' | 'hostile'): number => median(results[mode].map(({ load }) => load.p99Ms));
    const slowest = (mode: 'honest' | 'hostile'): number =>
      Math.max(...results[mode].map(({ healthMs }) => healthMs.at(-1) ?? 0));
    // Of all rounds together: one has too few of them for its own.
    const health = (mode: 'honest' | 'hostile'): number =>
      quantile(
        results[mode].flatMap(({ healthMs }) => healthMs).toSorted((one, other) => one - other),
        0.99,
      );
    return [
      {
        name: "credentials, p99 beside another account's hostile webhook",
        value: p99('hostile') / p99('honest'),
        target: TARGETS.p99BesideHostile,
        note: `${p99('honest').toFixed(2)} ms honest, ${p99('hostile').toFixed(2)} ms hostile, at ${REQUESTS_PER_SECOND}/s`,
      },
      {
        name: "/healthz, p99 beside another account's hostile webhook",
        value: health('hostile') / health('honest'),
        target: TARGETS.p99BesideHostile,
        note: `slowest ${slowest('honest').toFixed(0)} ms honest, ${slowest('hostile').toFixed(0)} ms hostile`,
      },
    ];
  } finally {
    await server.stop();
  }
}

async function bindAndFill(admin: AdminClient, webhookUrl: string): Promise<void> {
  const { hmacHash } = (await (await fetch(`${webhookUrl}/fingerprint`)).json()) as { hmacHash: string };
  await admin.call('POST', '/api/webhook/bind', { code: randomUUID(), webhookUrl, hmacHash });
  for (let n = 0; n < TOKENS; n++)
    await admin.call('POST', '/api/tokens', { serviceName: `hostile-${n}`, tokenType: 'JWT' });
}

async function askForLists(admin: AdminClient, signal: AbortSignal): Promise<void> {
  const ask = async (): Promise<void> => {
    while (!signal.aborted) {
      await admin.call('GET', '/api/tokens?limit=100');
      await delay(LIST_PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: LISTS_AT_ONCE }, ask));
}

/** @returns how long each answer took, ascending */
async function watchHealth(url: string, signal: AbortSignal): Promise<readonly number[]> {
  const tookMs: number[] = [];
  while (!signal.aborted) {
    const startedAt = performance.now();
    await (await fetch(`${url}/healthz`)).arrayBuffer();
    tookMs.push(performance.now() - startedAt);
    await delay(HEALTH_PAUSE_MS);
  }
  return tookMs.toSorted((one, other) => one - other);
}
