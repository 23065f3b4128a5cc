import type { Logger } from '@svault/server-kit/logger';
import { type Clock, formatTime } from '@svault/shared';
import type { ProxyUse } from '../access/decision.ts';
import type { UnitOfWork } from '../core/stores.ts';

/** Records for a credential's owner that an upstream rejects it. */
export type CredentialRejections = ReturnType<typeof createCredentialRejections>;

export function createCredentialRejections(options: {
  readonly unitOfWork: UnitOfWork;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}) {
  const { unitOfWork, clock, logger } = options;
  /** One of many concurrent calls writes. */
  const writing = new Set<string>();

  return {
    /**
     * Marks the credential of a use that was answered 401, with an event, and clears the mark after a success. Writes nothing
     * where the mark is right already. Never rejects, so that the caller gets its answer.
     */
    record: async (use: ProxyUse, status: number): Promise<void> => {
      if (use.kind !== 'webhook') return;
      const { vaultId, proxyId, origin, config, credentialRejected } = use;
      const { serviceName } = config;
      const isRejected = status === 401 && credentialRejected === 0;
      const isAccepted = status >= 200 && status < 300 && credentialRejected === 1;
      const key = `${vaultId} ${serviceName}`;
      if ((!isRejected && !isAccepted) || writing.has(key)) return;
      writing.add(key);
      try {
        await unitOfWork.run(vaultId, async ({ audit, tokens }) => {
          if (isAccepted) return tokens.clearRejected(vaultId, serviceName);
          if (!(await tokens.markRejected(vaultId, serviceName, formatTime(clock.now())))) return;
          const detail = { code: 'UPSTREAM_UNAUTHORIZED' };
          const event = { eventType: 'PROXY_CREDENTIAL_USE', outcome: 'error', detail } as const;
          await audit.append({ vaultId, proxyId, serviceName, origin, ...event });
        });
      } catch (error) {
        const message = 'the mark of a rejected credential could not be changed';
        logger.error({ vaultId, proxyId, err: error }, message);
      } finally {
        writing.delete(key);
      }
    },
  };
}
