import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type AdminClient, createAdminClient } from '@svault/compose/admin-client';
import { bind } from '@svault/compose/binding';
import type { Pair } from '@svault/compose/pair';
import { type LoadResult, quantile, runLoad } from '../load.ts';
import { LOAD_CORE } from '../machine.ts';
import type { Row } from '../report.ts';
import { type RoundOptions, alternate, p99Row } from '../rounds.ts';
import { startOwnServer } from '../server-process.ts';
import { TARGETS } from '../targets.ts';
import { controlPlaneContenders } from './control-plane.ts';

export const WEBHOOK = new URL('../hostile-webhook.ts', import.meta.url);
const STATES = ['honest', 'hostile'] as const;
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
 * @param hostileKey admin key of an account that has no webhook yet
 */
export async function hostileWebhookRows(
  pair: Pair,
  hostileKey: string,
  options: RoundOptions,
): Promise<readonly Row[]> {
  const server = await startOwnServer(WEBHOOK, LOAD_CORE, { readyPath: '/v1/health' });
  try {
    const hostile = createAdminClient(pair.controlPlaneUrl, hostileKey);
    await bindAndFill(hostile, server.url);
    const { credentials } = await controlPlaneContenders(pair);
    const measure = async (mode: 'honest' | 'hostile'): Promise<Round> => {
      await fetch(`${server.url}/mode/${mode}`, { method: 'POST' });
      const going = new AbortController();
      const lists = askForLists(hostile, going.signal);
      const health = watchHealth(pair.controlPlaneUrl, going.signal);
      const source = credentials.prepare();
      const load = await runLoad({
        ...credentials,
        ...options,
        source,
        requestsPerSecond: REQUESTS_PER_SECOND,
      });
      going.abort();
      await lists;
      return { load, healthMs: await health };
    };
    await measure('honest');
    const results = await alternate(options.rounds, STATES, measure);
    const [honest, hurt] = results.map((rounds) => rounds.map(({ load }) => load));
    // Of all rounds together: one has too few of them for its own.
    const [calm = [], beside = []] = results.map((rounds) =>
      rounds.flatMap(({ healthMs }) => healthMs).toSorted((one, other) => one - other),
    );
    return [
      p99Row(
        "credentials, p99 beside another account's hostile webhook",
        TARGETS.p99BesideHostile,
        [honest ?? [], hurt ?? []],
        { states: STATES, note: `, at ${REQUESTS_PER_SECOND}/s` },
      ),
      {
        name: "/healthz, p99 beside another account's hostile webhook",
        value: quantile(beside, 0.99) / quantile(calm, 0.99),
        target: TARGETS.p99BesideHostile,
        note: `slowest ${calm.at(-1)?.toFixed(0)} ms honest, ${beside.at(-1)?.toFixed(0)} ms hostile`,
      },
    ];
  } finally {
    await server.stop();
  }
}

/** Binds an account to a webhook of `hostile-webhook.ts`. */
export async function bindTo(admin: AdminClient, webhookUrl: string): Promise<void> {
  const { hmacHash } = (await (await fetch(`${webhookUrl}/fingerprint`)).json()) as { hmacHash: string };
  await bind(admin, { code: randomUUID(), webhookUrl, hmacHash });
}

async function bindAndFill(admin: AdminClient, webhookUrl: string): Promise<void> {
  await bindTo(admin, webhookUrl);
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

/** @returns how long each answer took */
async function watchHealth(url: string, signal: AbortSignal): Promise<readonly number[]> {
  const tookMs: number[] = [];
  while (!signal.aborted) {
    const startedAt = performance.now();
    await (await fetch(`${url}/healthz`)).arrayBuffer();
    tookMs.push(performance.now() - startedAt);
    await delay(HEALTH_PAUSE_MS);
  }
  return tookMs;
}
