import type { Logger } from '@svault/server-kit/logger';
import { type Clock, formatTime } from '@svault/shared';
import type { ProxyUse } from '../access/decision.ts';
import type { UnitOfWork } from '../core/stores.ts';

/** Keeps in mind for a credential's owner that an upstream does not accept it. */
export interface CredentialRejections {
  /**
   * Marks the credential of a use that was answered 401, with an event, and takes the mark away after a success. Writes
   * nothing where the mark is as it should be, and never rejects: the caller gets its answer all the same.
   */
  note(use: ProxyUse, status: number): Promise<void>;
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
  /** Of many calls that are answered at once, one writes. */
  const underWay = new Set<string>();

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
    note: async (use, status) => {
      if (use.kind !== 'webhook') return;
      const write = changeFor(use, status, { mark, clear });
      const key = `${use.vaultId} ${use.config.serviceName}`;
      if (write === undefined || underWay.has(key)) return;
      underWay.add(key);
      try {
        await write(use);
      } catch (error) {
        const { vaultId, proxyId } = use;
        logger.error(
          { vaultId, proxyId, err: error },
          'a credential could not be marked as rejected, or as good',
        );
      } finally {
        underWay.delete(key);
      }
    },
  };
}

type WebhookUse = Extract<ProxyUse, { readonly kind: 'webhook' }>;
type Write = (use: WebhookUse) => Promise<void>;

function changeFor(
  { credentialRejected }: WebhookUse,
  status: number,
  { mark, clear }: { readonly mark: Write; readonly clear: Write },
): Write | undefined {
  if (status === 401 && credentialRejected === 0) return mark;
  return status >= 200 && status < 300 && credentialRejected === 1 ? clear : undefined;
}
