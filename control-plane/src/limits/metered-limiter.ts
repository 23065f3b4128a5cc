import type { Metrics } from '../metrics.ts';
import type { Limiter, LimiterVerdict } from './limiter.ts';

/** Counts what a limiter decides: by what was asked for where it admits, by what refused where it does not. */
export function createMeteredLimiter(limiter: Limiter, count: Metrics['limiterDecision']): Limiter {
  const counted = <T extends LimiterVerdict | Promise<LimiterVerdict>>(asked: string, decided: T): T => {
    const tell = (verdict: LimiterVerdict): void =>
      verdict.allowed
        ? count({ scope: asked, verdict: 'admitted' })
        : count({ scope: verdict.scope, verdict: 'refused' });
    if (decided instanceof Promise) void decided.then(tell, () => {});
    else tell(decided);
    return decided;
  };
  return {
    admit: (request) => counted(request.traffic, limiter.admit(request)),
    take: (counter, vaultId) => counted(counter.scope, limiter.take(counter, vaultId)),
    lockouts: (vaultId) => limiter.lockouts(vaultId),
  };
}
