import { createFormReader } from '@svault/server-kit/form-body';
import { type SafeHtml, htmlPage, safeHtml } from '@svault/server-kit/html-page';
import { methodNotAllowed, route } from '@svault/server-kit/request-handler';
import { AppError } from '@svault/shared';
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { ErrorCode } from '../../core/errors.ts';
import { ERROR_STATUS } from '../http/errors.ts';

/** A page's heading and the HTML below it. */
export interface PageContent {
  readonly title: string;
  readonly body: SafeHtml;
}

export function sendPage(res: Response, status: number, { title, body }: PageContent): void {
  res.status(status).type('html').send(htmlPage(title, body));
}

/** A hidden field of a form. */
export const hiddenField = (name: string, value: string): SafeHtml =>
  safeHtml`<input type="hidden" name="${name}" value="${value}">`;

/** The message above a form that was rejected. */
export const alertText = (message: string): SafeHtml =>
  safeHtml`<p class="alert" role="alert">${message}</p>`;

/** An error's message for the person who sent a form: one sentence per invalid field. */
export function messageOf({ message, details }: AppError): string {
  const issues = details?.['issues'];
  if (!Array.isArray(issues)) return message;
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
      sendPage(res, statusOf(res, error), pageFor(error));
    }
  });
}

/** The page of an error. */
export type PageOfError = (error: AppError<ErrorCode>) => PageContent;

export const pageOfError: PageOfError = (error) => ({
  title: 'This did not work',
  body: safeHtml`<p>${messageOf(error)}</p>`,
});

/** Whether an error is one of {@link ERROR_STATUS}; the error handler takes all others. */
export const isKnownError = (error: unknown): error is AppError<ErrorCode> =>
  error instanceof AppError && Object.hasOwn(ERROR_STATUS, (error as AppError).code);

/** A form of one of our own pages: a token, or a binding code with the webhook's address. */
export const readFormBody = createFormReader({ maxBytes: 16 * 1024, wrongType: 'UNSUPPORTED_MEDIA_TYPE' });
