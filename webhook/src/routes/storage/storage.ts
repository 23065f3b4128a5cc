import type { RequestHandler } from 'express';
import type { Logger } from '@svault/server-kit/logger';
import { type Refusal, refusalBody } from '@svault/server-kit/error-handler';
import { requestIdOf } from '@svault/server-kit/request-id';
import { respondJson } from '@svault/server-kit/respond';
import { secretFieldIn, storageBatchSchema, storageOperationSchema } from '@svault/shared/schemas';
import { ApiError } from '../../errors.ts';
import type { RequestReceiver } from '../../http/authenticate-request.ts';
import { parseBody } from '../../http/body.ts';
import { signedPost } from '../../http/endpoint.ts';
import type { RunOperation } from './operations.ts';

/** `POST /v1/storage`: one operation or a batch, metadata only (PROTOCOL.md section 5.3). */
export function createStorageRoute(deps: {
  readonly receiveRequest: RequestReceiver;
  readonly runOperation: RunOperation;
  /** Resolves when all that can be read is on the disk. */
  readonly synced: () => Promise<void> | undefined;
  readonly refusalOf: (error: unknown) => Refusal;
  readonly logger: Pick<Logger, 'error'>;
}): RequestHandler {
  return signedPost('/v1/storage', deps.receiveRequest, async (body, res) =>
    respondJson(res, 'batch' in body ? await runBatch(body, requestIdOf(res.req)) : await runOne(body)),
  );

  async function runOne(operation: unknown): Promise<object> {
    refuseSecrets(operation);
    const result = await deps.runOperation(parseBody(storageOperationSchema, operation));
    // It may have read what another request has committed, which is not on the disk yet.
    await deps.synced();
    return result;
  }

  /** In order and independently: an operation that is rejected or fails is answered in its place and stops no other. */
  async function runBatch(
    { batch: operations, ...others }: Record<string, unknown>,
    requestId: string,
  ): Promise<object> {
    refuseSecrets(others);
    const { batch } = parseBody(storageBatchSchema, { batch: operations });
    const results: object[] = [];
    for (const operation of batch)
      results.push(await runOne(operation).catch((error: unknown) => toErrorBody(error, requestId)));
    return { results };
  }

  function toErrorBody(error: unknown, requestId: string): object {
    const failure = deps.refusalOf(error);
    const { status, code, details } = failure;
    if (status >= 500)
      deps.logger.error({ requestId, code, ...details, err: error }, 'an operation of a batch failed');
    return { ...refusalBody(failure), requestId };
  }
}

function refuseSecrets(operation: unknown): void {
  const name = secretFieldIn(operation);
  if (name === undefined) return;
  throw new ApiError('SECRET_FIELD', 'a storage operation carries no secret', { reason: name });
}
