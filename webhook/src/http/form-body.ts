import type { IncomingMessage } from 'node:http';
import { readBody } from '@svault/server-kit/raw-body';
import { refusal } from './errors.ts';

/** A token and its field's name need a fraction of this. */
const MAX_FORM_BYTES = 4096;
const FORM_TYPE = /^application\/x-www-form-urlencoded[\t ]*(;|$)/i;

/**
 * The fields of a posted form.
 *
 * @throws AppError INVALID_REQUEST for another content type or a field that occurs twice; TOO_LARGE above 4 KiB
 */
export async function readForm(req: IncomingMessage): Promise<ReadonlyMap<string, string>> {
  if (!FORM_TYPE.test(req.headers['content-type'] ?? ''))
    throw refusal('INVALID_REQUEST', 'this takes a form');
  const fields = new URLSearchParams((await readBody(req, { maxBytes: MAX_FORM_BYTES })).toString('utf8'));
  const form = new Map(fields);
  if (form.size !== fields.size) throw refusal('INVALID_REQUEST', 'a field occurs twice');
  return form;
}
