import type { IncomingMessage } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import { readBody, rejectByHead } from '@svault/server-kit/raw-body';
import { respondJson } from '@svault/server-kit/respond';
import * as z from 'zod';
import {
  approvalUnknownPage,
  approvalPage,
  enrolInvalidPage,
  enrolPage,
  enrolledPage,
} from '../approvals/approval-pages.ts';
import type { DecideApproval, Decision } from '../approvals/decide.ts';
import { type Approvers, approverNameSchema } from '../approvals/enrol.ts';
import { assertionSchema, passkeyProblem, registrationSchema } from '../approvals/passkeys.ts';
import { ApiError } from '../errors.ts';
import { MAX_BODY_BYTES, parseBody, parseJsonBody } from '../http/body.ts';
import { endpoint } from '../http/endpoint.ts';
import type { Pages } from '../http/pages.ts';

const APPROVAL = /^\/approvals\/(apr_[A-Za-z0-9_-]{22})(|\/options|\/decision)$/;
const BOUNDS = { maxBytes: MAX_BODY_BYTES['/approvals'] };

const decisionSchema = z.object({
  decision: z.enum(['approve', 'deny', 'revoke']),
  scope: z.custom<Decision['scope']>(
    (value) => typeof value === 'string' && /^(?:once|standing:\d{1,5})$/.test(value),
    'not a scope',
  ),
});
const decidedSchema = decisionSchema.extend({ response: assertionSchema });
const linkSchema = z.object({
  code: z.string().max(100),
  name: approverNameSchema,
});
const enrolSchema = linkSchema.extend({ response: registrationSchema });

/** `/approvals/{id}` and `/approvers/new`: the pages of approvers, and what their script posts. */
export function createApprovalPageRoutes(deps: {
  readonly decideApproval: DecideApproval;
  readonly approvers: Approvers;
  readonly pages: Pages;
  readonly webhookUrl: string;
  /** The later of wall clock and time floor, milliseconds since 1970. */
  readonly latestMs: () => number;
}): readonly RequestHandler[] {
  const { decideApproval, approvers, pages, webhookUrl, latestMs } = deps;
  const { origin } = new URL(webhookUrl);
  const problem = passkeyProblem(webhookUrl);

  const read = async <T>(req: Request, schema: z.ZodType<T>): Promise<T> => {
    mustBeOwnPage(req, origin);
    rejectByHead(req, BOUNDS);
    return parseBody(schema, parseJsonBody(req, await readBody(req, BOUNDS)));
  };

  const showApproval = (id: string, res: Response): void => {
    const view = orNone(() => decideApproval.view(id));
    if (view === undefined) return pages.send(res, 404, approvalUnknownPage);
    pages.send(res, 200, approvalPage(view, latestMs()));
  };
  const showLink = (req: Request, res: Response): void => {
    const query = new URLSearchParams(req.url.split('?', 2)[1] ?? '');
    if (query.has('done')) return pages.send(res, 200, enrolledPage);
    const code = query.get('code') ?? '';
    const link = orNone(() => approvers.mustBeLink(code));
    if (link === undefined) return pages.send(res, 404, enrolInvalidPage);
    pages.send(res, 200, enrolPage({ ...link, code, problem }));
  };

  const approval: RequestHandler = (req, res, next) => {
    const [, id, action] = APPROVAL.exec(req.path) ?? [];
    if (id === undefined) return next();
    const methods = action === '' ? ['GET'] : ['POST'];
    return endpoint(req.path, methods, async () => {
      if (action === '') return showApproval(id, res);
      if (action === '/options')
        return respondJson(res, decideApproval.options(id, await read(req, decisionSchema)));
      const { response, ...decision } = await read(req, decidedSchema);
      await decideApproval.decide(id, decision, response);
      respondJson(res, {});
    })(req, res, next);
  };
  return [
    approval,
    endpoint('/approvers/new', ['GET'], showLink),
    endpoint('/approvers/new/options', ['POST'], async (req, res) => {
      const { code, name } = await read(req, linkSchema);
      respondJson(res, { publicKey: approvers.options(code, name) });
    }),
    endpoint('/approvers/new/decision', ['POST'], async (req, res) => {
      const { code, name, response } = await read(req, enrolSchema);
      respondJson(res, { id: (await approvers.enrol(code, name, response)).id });
    }),
  ];
}

/** Programs name no origin; a browser does, and says for which site it asks. @throws ApiError ORIGIN_NOT_ALLOWED */
function mustBeOwnPage({ headers }: IncomingMessage, origin: string): void {
  const site = headers['sec-fetch-site'] ?? 'same-origin';
  if ((headers.origin ?? origin) !== origin || site !== 'same-origin')
    throw new ApiError('ORIGIN_NOT_ALLOWED', 'a page of another origin may not decide here');
}

function orNone<T>(find: () => T): T | undefined {
  try {
    return find();
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}
