import type { Request } from 'express';
import { readBody } from '@svault/server-kit/raw-body';
import { refusal } from '../errors.ts';

/** Forms of our own pages carry a token or a binding code and little else. */
const MAX_FORM_BYTES = 16 * 1024;

/**
 * Reads what a form of one of our pages posted.
 *
 * @throws AppError TOO_LARGE, UNSUPPORTED_MEDIA_TYPE; INVALID_REQUEST when a field occurs twice
 */
export async function readFormBody(req: Request): Promise<Readonly<Record<string, string>>> {
  const bytes = await readBody(req, { maxBytes: MAX_FORM_BYTES });
  const mediaType = req.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (mediaType !== 'application/x-www-form-urlencoded')
    throw refusal('UNSUPPORTED_MEDIA_TYPE', 'Send the form as application/x-www-form-urlencoded.');
  const pairs = [...new URLSearchParams(bytes.toString('utf8'))];
  if (new Set(pairs.map(([name]) => name)).size !== pairs.length)
    throw refusal('INVALID_REQUEST', 'A field of the form occurs twice.');
  return Object.fromEntries(pairs);
}
