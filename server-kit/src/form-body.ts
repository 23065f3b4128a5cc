import type { IncomingMessage } from 'node:http';
import { AppError } from '@svault/shared';
import { readBody } from './raw-body.ts';

const FORM_TYPE = /^application\/x-www-form-urlencoded[\t ]*(;|$)/i;

/** Reads the fields that a form of one of our own pages posted. */
export type FormReader = (req: IncomingMessage) => Promise<Readonly<Record<string, string>>>;

/**
 * @param options.wrongType the server's code for a body of another content type
 * @throws from the returned function, AppError `wrongType`; TOO_LARGE above `maxBytes`; INVALID_REQUEST for a field that
 *   occurs twice, and for a NUL, which no browser sends from a form field and not every database can be asked for
 */
export function createFormReader(options: {
  readonly maxBytes: number;
  readonly wrongType: string;
}): FormReader {
  return async (req) => {
    if (!FORM_TYPE.test(req.headers['content-type'] ?? ''))
      throw new AppError(options.wrongType, 'send the form as application/x-www-form-urlencoded');
    const pairs = [...new URLSearchParams((await readBody(req, options)).toString('utf8'))];
    if (new Set(pairs.map(([name]) => name)).size !== pairs.length)
      throw new AppError('INVALID_REQUEST', 'a field of the form occurs twice');
    if (pairs.flat().some((text) => text.includes('\0')))
      throw new AppError('INVALID_REQUEST', 'a field of the form has a NUL');
    return Object.fromEntries(pairs);
  };
}
