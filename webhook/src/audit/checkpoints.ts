import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { Logger } from '@svault/server-kit/logger';
import { type Clock, authorityOf } from '@svault/shared';
import {
  type Checkpoint,
  checkpointOrigin,
  checkpointText,
  createCosignerKey,
} from '@svault/shared/audit-chain';
import type { StorageAnswer } from '@svault/shared/schemas';
import { ApiError } from '../errors.ts';
import type { AuditLog } from './audit-log.ts';
import type { AuditStore } from './audit-store.ts';
import {
  type CheckpointRequest,
  type ReadCheckpoint,
  idOf,
  isCopyOf,
  readCheckpointRequest,
} from './checkpoint-request.ts';

/** A checkpoint as it was cosigned. */
export interface CosignedCheckpoint extends Checkpoint {
  /** With both signatures. */
  readonly note: string;
  /** The control plane's verifier key. */
  readonly logKey: string;
  /** Milliseconds since 1970. */
  readonly cosignedAtMs: number;
}

/** Calls are synchronous and take part in the open transaction. */
export interface CheckpointStore {
  /** The one of a log that was cosigned last. */
  last(origin: string): CosignedCheckpoint | undefined;
  /** The last one of each log, newest first. */
  all(): readonly CosignedCheckpoint[];
  /** Replaces the last one of its log. */
  put(checkpoint: CosignedCheckpoint): void;
  removeAll(): void;
  /** 32 bytes that the key which cosigns is made of. The first call draws them, and writes. */
  seed(): Uint8Array;
}

/** Cosigns checkpoints of the control plane's audit log (PROTOCOL.md section 5.11). */
export function createCheckpoints(deps: {
  readonly checkpointStore: CheckpointStore;
  readonly auditStore: Pick<AuditStore, 'serviceEvent'>;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly binding: () => { readonly serviceBaseUrl: string; readonly vaultId: string } | undefined;
  readonly commit: GroupCommit;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Pick<Logger, 'warn'>;
  readonly webhookUrl: string;
}) {
  const { checkpointStore: store, auditStore, audit, binding, commit, clock, logger, webhookUrl } = deps;

  /** In an open transaction. */
  const keyNow = () => createCosignerKey(authorityOf(webhookUrl), store.seed());

  /** In an open transaction. @returns undefined where the log does not go on from what was cosigned */
  const cosignNow = (read: ReadCheckpoint, last: CosignedCheckpoint | undefined) => {
    const known = last?.size ?? read.before.seq;
    const missing = read.events.find(
      (event) => event.seq > known && !isCopyOf(auditStore.serviceEvent(idOf(event)), event),
    );
    if (missing !== undefined)
      throw new ApiError(
        'INVALID_REQUEST',
        `event ${missing.seq} is not the one that this log has a copy of`,
      );
    const cosignedAtMs = clock.now();
    const { vkey, cosign } = keyNow();
    const cosignature = cosign(checkpointText(read), cosignedAtMs);
    const { origin, size, hash, logKey } = read;
    if (last?.size !== size)
      store.put({ origin, size, hash, logKey, cosignedAtMs, note: read.note + cosignature });
    return { cosignature, key: vkey };
  };

  return {
    /** @throws ApiError INVALID_REQUEST, CHECKPOINT_CONFLICT with what was cosigned last; then nothing is stored */
    cosign: async (request: CheckpointRequest): Promise<StorageAnswer<'audit.checkpoint'>> => {
      const bound = binding();
      // Requests are signed with a key of the binding, which may have ended since.
      if (bound === undefined) throw new ApiError('SIGNATURE_INVALID', 'this webhook is not bound');
      const { vaultId, serviceBaseUrl } = bound;
      const origin = checkpointOrigin(serviceBaseUrl, vaultId);
      const read = readCheckpointRequest(request, { origin, vaultId });
      return commit.run(() => {
        const last = store.last(origin);
        if (last === undefined && read.events.length === 0)
          throw new ApiError('INVALID_REQUEST', 'the first checkpoint comes with the events before it');
        if (last === undefined || goesOnFrom(read, last)) return cosignNow(read, last);
        const { size, hash } = last;
        logger.warn({ origin, size: read.size, cosigned: size }, 'a checkpoint contradicts the cosigned one');
        throw new ApiError(
          'CHECKPOINT_CONFLICT',
          `the audit log does not continue the one that was cosigned up to event ${size}`,
          { details: { size, hash } },
        );
      });
    },
    /** The checkpoint that was cosigned last. */
    newest: (): CosignedCheckpoint | undefined => store.all()[0],
    /** The verifier key of this webhook. */
    key: (): Promise<string> => commit.run(() => keyNow().vkey),
    /** Forgets what was cosigned: the next checkpoint is the first again. @returns of how many logs */
    reset: (): Promise<number> =>
      commit.run(() => {
        const all = store.all();
        for (const { origin, size, hash } of all)
          audit.appendNow({
            eventType: 'CHECKPOINTS_RESET',
            outcome: 'success',
            detail: { origin, size, hash },
          });
        store.removeAll();
        return all.length;
      }),
  };
}

export type Checkpoints = ReturnType<typeof createCheckpoints>;

/** Whether a checkpoint has the same key, reaches back to the cosigned one, and has its hash there. */
function goesOnFrom({ before, events, logKey }: ReadCheckpoint, last: CosignedCheckpoint): boolean {
  const there = [before, ...events].find(({ seq }) => seq === last.size);
  return logKey === last.logKey && there?.hash === last.hash;
}
