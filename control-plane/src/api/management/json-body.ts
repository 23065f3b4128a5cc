import type { IncomingMessage } from 'node:http';
import { type BodyBounds, readBody } from '@svault/server-kit/raw-body';
import { JsonRefused, parseJsonObject } from '@svault/shared';
import { refusal } from '../../core/errors.ts';

/** How much is read of a body, by what is known of its sender before. */
export const BODY_OF = {
  /** Far above the longest notes a token may have; management requests carry nothing larger. */
  signedIn: { maxBytes: 256 * 1024, sender: 'known' },
  /** A secret of 1,024 characters has 6 KiB where each is written as an escape. */
  anybody: { maxBytes: 8 * 1024, sender: 'stranger' },
} as const;

/**
 * Reads a request's body: content type, size cap, JSON, in this order. Of another type nothing is read.
 *
 * @returns undefined when there is no body
 * @throws AppError UNSUPPORTED_MEDIA_TYPE, TOO_LARGE, INVALID_REQUEST
 */
export async function readJsonBody(
  req: IncomingMessage,
  bounds: BodyBounds,
): Promise<Record<string, unknown> | undefined> {
  if (!hasBody(req)) return undefined;
  if (!isJson(req)) throw refusal('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.');
  const bytes = await readBody(req, bounds);
  if (bytes.length === 0) return undefined;
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw error;
    throw refusal('INVALID_REQUEST', 'The body must be one JSON object in UTF-8.', { reason: error.reason });
  }
}

/** RFC 9112 section 6.3. */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Whether a request says that its body is JSON. */
export const isJson = ({ headers }: IncomingMessage): boolean =>
  headers['content-type']?.split(';')[0]?.trim().toLowerCase() === 'application/json';
