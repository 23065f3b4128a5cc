import { createFormReader } from '@svault/server-kit/form-body';
import type { PageContent as Content, PageIdentity } from '@svault/server-kit/html-page';
import { helpText, retryText } from '@svault/server-kit/page-parts';
import { methodNotAllowed, route } from '@svault/server-kit/request-handler';
import { requestIdOf } from '@svault/server-kit/request-id';
import { respondPage } from '@svault/server-kit/respond-page';
import { safeHtml } from '@svault/server-kit/safe-html';
import { AppError } from '@svault/shared';
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { ErrorCode } from '../../core/errors.ts';
import { ERROR_STATUS } from '../http/errors.ts';
import type { PageName } from './page-names.ts';

/** A page of this service. */
export interface PageContent extends Content {
  readonly name: PageName;
}

/** @param res of an app whose `locals.identity` is set @param closes as of a whole response */
export function sendPage(res: Response, status: number, content: PageContent, closes = false): void {
  respondPage(res, { status, closes, identity: res.app.locals['identity'] as PageIdentity, ...content });
}

/** An error's message for the person who sent a form: one sentence per invalid field, and how long to wait. */
export function messageOf({ message, details }: Pick<AppError, 'message' | 'details'>): string {
  const issues = details?.['issues'];
  if (!Array.isArray(issues)) return message + retryText(details);
  const texts = (issues as readonly { readonly path: string; readonly message: string }[]).map(
    ({ path, message: text }) => `${FIELDS[path] ?? 'This'} ${text}.`,
  );
  return texts.join(' ');
}

const FIELDS: Readonly<Record<string, string>> = {
  currentPassword: 'The current password',
  newPassword: 'The new password',
  webhookUrl: "The webhook's address",
};

/** Sets `Retry-After` where an error has one. @returns its status */
export function statusOf(res: Response, error: AppError): number {
  const retryAfter = error.details?.['retryAfter'];
  if (typeof retryAfter === 'number') res.setHeader('Retry-After', String(retryAfter));
  return ERROR_STATUS[error.code as ErrorCode];
}

type PageHandler = (req: Request, res: Response) => Promise<void>;

/** A page: GET shows it, and its form is posted to the same path. */
export const pageAt = (
  path: string,
  { show, submit }: { readonly show: PageHandler; readonly submit: PageHandler },
  /** The pages of errors. */
  { ofShow, ofSubmit }: { readonly ofShow?: PageOfError; readonly ofSubmit?: PageOfError } = {},
): Router =>
  Router({ caseSensitive: true, strict: true })
    .get(path, pageRoute(show, ofShow))
    .post(path, pageRoute(submit, ofSubmit))
    .all(path, methodNotAllowed(['GET', 'HEAD', 'POST']));

/** Wraps a page's handler: an error of this server becomes a page too. */
export function pageRoute(handler: PageHandler, pageFor: PageOfError = pageOfError): RequestHandler {
  return route(async (req, res) => {
    try {
      await handler(req, res);
    } catch (error) {
      if (!isKnownError(error)) throw error;
      const { code, message, details } = error;
      const shown = { code, message, details: { ...details, requestId: requestIdOf(req) } };
      sendPage(res, statusOf(res, error), pageFor(shown));
    }
  });
}

/** An error as its page shows it; `details.requestId` is the request's. */
export type ShownError = Pick<AppError, 'code' | 'message' | 'details'>;

/** The page of an error. */
export type PageOfError = (error: ShownError) => PageContent;

export const pageOfError: PageOfError = (error) => ({
  name: 'error',
  title: TITLES[error.code] ?? 'This did not work',
  body: safeHtml`<p>${messageOf(error)}</p>`,
  next: safeHtml`<p>Go back and try again, or start at <a href="/login">the sign-in page</a>.</p>
${helpText(error)}`,
});

const TITLES: Readonly<Record<string, string>> = {
  RATE_LIMITED: 'Too many requests',
  VAULT_LOCKED: 'The vault is locked',
  UNAUTHENTICATED: 'You are not signed in',
};

/** Whether an error is one of {@link ERROR_STATUS}; the error handler takes all others. */
export const isKnownError = (error: unknown): error is AppError<ErrorCode> =>
  error instanceof AppError && Object.hasOwn(ERROR_STATUS, (error as AppError).code);

/** A form of one of our own pages: a token, or a binding code with the webhook's address. */
export const readFormBody = createFormReader({ maxBytes: 16 * 1024, wrongType: 'UNSUPPORTED_MEDIA_TYPE' });
