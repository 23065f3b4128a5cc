import { Router } from 'express';
import type { Logger } from '@svault/server-kit/logger';
import { type Refusal, refusalBody } from '@svault/server-kit/refusal';
import { only, route } from '@svault/server-kit/request-handler';
import { respondJson } from '@svault/server-kit/respond';
import { secretFieldIn, storageBatchSchema, storageOperationSchema } from '@svault/shared/schemas';
import type { RequestReceiver } from '../../http/authenticate-request.ts';
import { MAX_BODY_BYTES } from '../../http/body-caps.ts';
import { refusal } from '../../errors.ts';
import { parseJsonBody } from '../../http/json-body.ts';
import { parseBody } from '../../http/parse-body.ts';
import type { RunOperation } from '../../storage/run-operation.ts';

/** `POST /v1/storage`: one operation or a batch, metadata only (protocol section 5.3). */
export function createStorageRoute(deps: {
  readonly receiveRequest: RequestReceiver;
  readonly runOperation: RunOperation;
  readonly refusalOf: (error: unknown) => Refusal;
  readonly logger: Pick<Logger, 'error'>;
}): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all(
    '/v1/storage',
    only(['POST']),
    route(async (req, res) => {
      const { body: raw } = await deps.receiveRequest(req, { maxBytes: MAX_BODY_BYTES['/v1/storage'] });
      const body = parseJsonBody(req, raw);
      respondJson(res, 'batch' in body ? await runBatch(body) : await runOne(body));
    }),
  );
  return router;

  async function runOne(operation: unknown): Promise<object> {
    refuseSecrets(operation);
    return deps.runOperation(parseBody(storageOperationSchema, operation));
  }

  /** In order, each on its own: one that is refused or fails is answered in its place and stops no other. */
  async function runBatch({ batch: operations, ...others }: Record<string, unknown>): Promise<object> {
    refuseSecrets(others);
    const { batch } = parseBody(storageBatchSchema, { batch: operations });
    const results: object[] = [];
    for (const operation of batch) results.push(await runOne(operation).catch(toErrorBody));
    return { results };
  }

  function toErrorBody(error: unknown): object {
    const refusal = deps.refusalOf(error);
    const { status, code, details } = refusal;
    if (status >= 500) deps.logger.error({ code, ...details, err: error }, 'an operation of a batch failed');
    return refusalBody(refusal);
  }
}

function refuseSecrets(operation: unknown): void {
  const name = secretFieldIn(operation);
  if (name === undefined) return;
  throw refusal('SECRET_FIELD', 'a storage operation carries no secret', { reason: name });
}
