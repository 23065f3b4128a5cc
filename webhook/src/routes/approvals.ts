import type { RequestHandler } from 'express';
import { respondJson } from '@svault/server-kit/respond';
import { approvalListSchema, approvalRequestSchema } from '@svault/shared/schemas';
import type { AskApproval } from '../approvals/ask.ts';
import type { RequestReceiver } from '../http/authenticate-request.ts';
import { parseBody } from '../http/body.ts';
import { signedPost } from '../http/endpoint.ts';
import { ROW_OVERHEAD_BYTES, type WriteQuota } from './storage/write-quota.ts';

/** `POST /v1/approvals` and `/v1/approvals/list`, signed (PROTOCOL.md section 5.10). */
export function createApprovalRoutes(deps: {
  readonly receiveRequest: RequestReceiver;
  readonly askApproval: AskApproval;
  readonly quota: WriteQuota;
  /** Resolves when all that can be read is on the disk. */
  readonly synced: () => Promise<void> | undefined;
}): readonly RequestHandler[] {
  const { receiveRequest, askApproval, quota, synced } = deps;
  return [
    signedPost('/v1/approvals', receiveRequest, async (body, res) => {
      const request = parseBody(approvalRequestSchema, body);
      quota.take('records', ROW_OVERHEAD_BYTES + Buffer.byteLength(JSON.stringify(body)));
      respondJson(res, await askApproval.ask(request));
    }),
    signedPost('/v1/approvals/list', receiveRequest, async (body, res) => {
      const answer = askApproval.list(parseBody(approvalListSchema, body).ids);
      await synced();
      respondJson(res, answer);
    }),
  ];
}
