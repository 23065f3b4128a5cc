import type { Logger } from '@svault/server-kit/logger';
import type { Clock, Id } from '@svault/shared';

const PAUSE_MS = 60_000;

/** Reports that a webhook rejects what the control plane signs: the line to alert on. */
export type SignatureAlarm = (vaultId: Id<'vlt'>, about: Readonly<Record<string, unknown>>) => void;

/** Logs it at most once a minute for each webhook: background work alone asks several times a second. */
export function createSignatureAlarm({
  logger,
  clock,
}: {
  readonly logger: Pick<Logger, 'error'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}): SignatureAlarm {
  const quietUntilMs = new Map<Id<'vlt'>, number>();
  return (vaultId, about) => {
    const nowMs = clock.monotonic();
    if (nowMs < (quietUntilMs.get(vaultId) ?? -Infinity)) return;
    quietUntilMs.set(vaultId, nowMs + PAUSE_MS);
    logger.error({ vaultId, ...about }, 'a webhook rejects the signature of this control plane');
  };
}
