import type { IncomingMessage } from 'node:http';
import { JsonRefused, parseWireObject } from '@svault/shared';
import { refusal } from '../errors.ts';

const JSON_TYPE = /^application\/json[\t ]*(;|$)/i;

/**
 * A body of one byte or more as protocol section 2 asks: `application/json` with any parameters, one object.
 *
 * @throws AppError INVALID_REQUEST
 */
export function parseJsonBody(req: IncomingMessage, raw: Uint8Array): Record<string, unknown> {
  if (!JSON_TYPE.test(req.headers['content-type'] ?? ''))
    throw refusal('INVALID_REQUEST', 'the content-type must be application/json');
  try {
    return parseWireObject(raw);
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw error;
    throw refusal('INVALID_REQUEST', 'the body is not the JSON that the protocol asks for', {
      cause: error,
      reason: error.reason,
    });
  }
}
