import { newId } from '@svault/shared';
import { callProxy, putProxy } from './proxy-calls.ts';
import { CLIENT, type RefreshBench } from './refresh-bench.ts';
import type { Upstream } from './upstream.ts';

/** A token of the run, by name; half of them are refreshed by the service alone. */
export interface RunToken {
  readonly name: string;
  readonly proxyId: string;
  readonly mediated: boolean;
}

/** What came of the operations of a run, by operation and answer: `fetch 200`, `update invalid_grant`. */
export type RunCounts = ReadonlyMap<string, number>;

/** Between two rounds: more than the tokens live, and time for a few of a token's ten calls an hour. */
const ROUND_MS = 30 * 60_000;

/** Stores some tokens that the upstream may be called with, each with a proxy. */
export async function runTokens(
  bench: RefreshBench,
  upstream: Upstream,
  count: number,
): Promise<readonly RunToken[]> {
  bench.provider.expiresIn = 60;
  const tokens = Array.from({ length: count }, (_, at) => ({
    name: `run ${at}`,
    proxyId: newId('prx'),
    mediated: at % 2 === 1,
  }));
  for (const { name, proxyId, mediated } of tokens) {
    const provider = mediated ? { mediated, clientSecret: undefined } : {};
    const body = { shareRefreshToken: true, allowedHosts: [upstream.url] };
    await bench.store(name, { provider, body });
    await putProxy(bench.webhook, upstream.url, { proxyId, serviceName: name });
  }
  return tokens;
}

/**
 * Refreshes the tokens in every way there is, at once, round after round, until the provider has answered so many
 * calls: fetches and proxied calls of expired tokens, notices of all kinds, leases that are used, used twice, and
 * forgotten.
 */
export async function mixedRefreshes(
  bench: RefreshBench,
  tokens: readonly RunToken[],
  refreshes: number,
): Promise<RunCounts> {
  const { provider, webhook } = bench;
  const counts = new Map<string, number>();
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
  const start = provider.calls.length;
  while (provider.calls.length - start < refreshes) {
    webhook.clock.advance(ROUND_MS);
    const before = provider.calls.length;
    // All are on their way before the provider has answered any.
    const gate = provider.hold();
    const round = tokens.flatMap((token) => [
      (token.mediated ? leaseIt : anyOperation)(bench, token, count),
      ...Array.from({ length: 3 }, () => anyOperation(bench, token, count)),
    ]);
    await provider.arrived(before + tokens.length);
    gate.release();
    await Promise.all(round);
    for (const { name } of tokens.filter(() => Math.random() < 0.2))
      await bench.refresh({ phase: 'get', serviceName: name });
  }
  return counts;
}

type Operation = (bench: RefreshBench, token: RunToken, count: (what: string) => void) => Promise<void>;

const fetchIt: Operation = async ({ webhook }, { name }, count) =>
  count(`fetch ${(await webhook.credential(name)).status}`);

const proxyIt: Operation = async ({ webhook }, { name, proxyId }, count) =>
  count(`proxy ${(await callProxy(webhook, { proxyId, serviceName: name })).status}`);

const notifyIt: Operation = async (bench, { name }, count) => {
  const reason = (['expiring', 'expired', 'manual'] as const)[Math.floor(Math.random() * 3)];
  const { status, json } = await bench.notify(name, { reason });
  count(`notify ${json.outcome ?? status}`);
};

const leaseIt: Operation = async (bench, { name }, count) => {
  const { status, json } = await bench.refresh({ phase: 'get', serviceName: name });
  count(`get ${status}`);
  if (status !== 200) return;
  const update = { phase: 'update', leaseId: json.leaseId, clientSecret: CLIENT.secret };
  const again = Math.random() < 0.5 ? [bench.refresh(update)] : [];
  for (const done of await Promise.all([bench.refresh(update), ...again]))
    count(`update ${done.json.outcome ?? done.json.code}`);
};

const anyOperation: Operation = (bench, token, count) => {
  const operations = [fetchIt, proxyIt, notifyIt, leaseIt];
  const operation = operations[Math.floor(Math.random() * operations.length)] ?? fetchIt;
  return operation(bench, token, count);
};

/** What is wrong after a run; empty when every token that is stored is the good one. */
export async function lostTokens(
  bench: RefreshBench,
  tokens: readonly RunToken[],
): Promise<readonly string[]> {
  const lost: string[] = [];
  for (const { name } of tokens) {
    const { status, json } = await bench.webhook.credential(name, { rfp: 'none' });
    if (status !== 200) lost.push(`${name}: ${json.code}`);
    else if (!bench.provider.isGood(json.token.refreshToken)) lost.push(`${name}: a spent refresh token`);
  }
  return lost;
}
