import type { Request } from 'express';
import { readBody } from '@svault/server-kit/raw-body';
import { JsonRefused, parseJsonObject } from '@svault/shared';
import { refusal } from '../errors.ts';

/** Far above the longest notes a token may have; management requests carry nothing larger. */
const MAX_BODY_BYTES = 256 * 1024;

/**
 * Reads a management request's body: size cap, content type, JSON, in this order.
 *
 * @returns undefined when there is no body
 * @throws AppError TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, INVALID_REQUEST
 */
export async function readJsonBody(req: Request): Promise<Record<string, unknown> | undefined> {
  const bytes = await readBody(req, { maxBytes: MAX_BODY_BYTES });
  if (bytes.length === 0) return undefined;
  const mediaType = req.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json')
    throw refusal('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.');
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw error;
    throw refusal('INVALID_REQUEST', 'The body must be one JSON object in UTF-8.', { reason: error.reason });
  }
}
