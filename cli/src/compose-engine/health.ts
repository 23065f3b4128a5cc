import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '../failure.ts';
import type { ComposeEngine } from './compose-engine.ts';

/** Health checks of the project run every ten seconds; a tunnel may need some of them. */
export const TIMEOUT_MS = 120_000;
/** What ends again and again right after its start has had several tries by then. */
const TIMEOUT_WITH_STOPPED_MS = 20_000;
const PAUSE_MS = 1_000;

type ServiceState = 'healthy' | 'starting' | 'unhealthy' | 'stopped';

/**
 * The state of a service as `ps` of either version of compose shows it, such as `Up 10 seconds (healthy)`. A service that
 * has no health check counts as healthy when it is up.
 */
export function stateIn(shown: string): ServiceState {
  if (/\(unhealthy\)/.test(shown)) return 'unhealthy';
  if (/\((?:health: )?starting\)/.test(shown)) return 'starting';
  return /\bUp\b/.test(shown) ? 'healthy' : 'stopped';
}

/**
 * Waits until every service of the project is healthy.
 * @throws Failure unavailable that names the service that does not become so
 */
export async function untilHealthy(
  compose: ComposeEngine,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<void> {
  const services = (await compose.read('config', '--services')).out.split('\n').filter((name) => name !== '');
  const startedAt = performance.now();
  for (const service of services)
    for (;;) {
      const state = stateIn((await compose.read('ps', service)).out);
      if (state === 'healthy') break;
      const waitedMs = performance.now() - startedAt;
      const longest = state === 'stopped' ? Math.min(TIMEOUT_WITH_STOPPED_MS, timeoutMs) : timeoutMs;
      if (state === 'unhealthy' || waitedMs > longest)
        throw unavailable(`${service} ${SAID[state]}: ${compose.name} logs ${service}`);
      await sleep(PAUSE_MS, undefined, { signal });
    }
}

const SAID: Readonly<Record<Exclude<ServiceState, 'healthy'>, string>> = {
  starting: 'does not become healthy',
  unhealthy: 'runs, but is not healthy',
  stopped: 'does not stay up',
};
