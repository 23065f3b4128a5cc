import type { Logger } from '@svault/server-kit/logger';
import { type Clock, formatTime } from '@svault/shared';
import type { ProxyUse } from '../access/decision.ts';
import type { UnitOfWork } from '../core/stores.ts';
import type { WebhookUse } from './exchange.ts';

/** Records for a credential's owner that an upstream rejects it. */
export interface CredentialRejections {
  /**
   * Marks the credential of a use that was answered 401, with an event, and clears the mark after a success. Writes nothing
   * where the mark is right already. Never rejects, so that the caller gets its answer.
   */
  record(use: ProxyUse, status: number): Promise<void>;
}

export function createCredentialRejections({
  unitOfWork,
  clock,
  logger,
}: {
  readonly unitOfWork: UnitOfWork;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}): CredentialRejections {
  /** One of many concurrent calls writes. */
  const writing = new Set<string>();

  const mark = ({ vaultId, proxyId, config: { serviceName } }: WebhookUse): Promise<void> =>
    unitOfWork.run(vaultId, async ({ audit, tokens }) => {
      if (!(await tokens.markRejected(vaultId, serviceName, formatTime(clock.now())))) return;
      const detail = { code: 'UPSTREAM_UNAUTHORIZED' };
      await audit.append({
        vaultId,
        proxyId,
        serviceName,
        eventType: 'PROXY_CREDENTIAL_USE',
        outcome: 'error',
        detail,
      });
    });

  const clear = ({ vaultId, config: { serviceName } }: WebhookUse): Promise<void> =>
    unitOfWork.run(vaultId, ({ tokens }) => tokens.clearRejected(vaultId, serviceName));

  return {
    record: async (use, status) => {
      if (use.kind !== 'webhook') return;
      const write = changeFor(use, status, { mark, clear });
      const key = `${use.vaultId} ${use.config.serviceName}`;
      if (write === undefined || writing.has(key)) return;
      writing.add(key);
      try {
        await write(use);
      } catch (error) {
        const { vaultId, proxyId } = use;
        logger.error(
          { vaultId, proxyId, err: error },
          'the mark of a rejected credential could not be changed',
        );
      } finally {
        writing.delete(key);
      }
    },
  };
}

type Write = (use: WebhookUse) => Promise<void>;

function changeFor(
  { credentialRejected }: WebhookUse,
  status: number,
  { mark, clear }: { readonly mark: Write; readonly clear: Write },
): Write | undefined {
  if (status === 401 && credentialRejected === 0) return mark;
  return status >= 200 && status < 300 && credentialRejected === 1 ? clear : undefined;
}
