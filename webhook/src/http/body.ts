import { createFormReader } from '@svault/server-kit/form-body';
import { JsonRefused, parseWireObject } from '@svault/shared';
import type { IncomingMessage } from 'node:http';
import type * as z from 'zod';
import { ApiError } from '../errors.ts';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

/** The largest body of each endpoint, in bytes (PROTOCOL.md section 2). */
export const MAX_BODY_BYTES = {
  /** A token and the name of its field are far shorter. */
  '/bind': 4 * KIBIBYTE,
  /** What a page posts: a passkey's answer. */
  '/approvals': 16 * KIBIBYTE,
  /** Read before its sender is authenticated: it holds the key of its signature. */
  '/v1/exchange': KIBIBYTE,
  '/v1/approvals': 64 * KIBIBYTE,
  '/v1/approvals/list': 64 * KIBIBYTE,
  '/v1/health': MEBIBYTE,
  '/v1/proxy': 8 * MEBIBYTE,
  '/v1/refresh': MEBIBYTE,
  '/v1/refresh-notify': MEBIBYTE,
  '/v1/storage': MEBIBYTE,
  '/v1/store': MEBIBYTE,
} as const;

const JSON_TYPE = /^application\/json[\t ]*(;|$)/i;

/**
 * A body of one byte or more as PROTOCOL.md section 2 asks: `application/json` with any parameters, one object.
 *
 * @throws ApiError INVALID_REQUEST
 */
export function parseJsonBody(req: IncomingMessage, raw: Uint8Array): Record<string, unknown> {
  if (!JSON_TYPE.test(req.headers['content-type'] ?? ''))
    throw new ApiError('INVALID_REQUEST', 'the content-type must be application/json');
  try {
    return parseWireObject(raw);
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw error;
    throw new ApiError('INVALID_REQUEST', 'the body is not the JSON that the protocol asks for', {
      cause: error,
      reason: error.reason,
    });
  }
}

/**
 * Reads a parsed body by its schema. The refusal names the first member that does not fit and what is wrong with it,
 * never its value.
 *
 * @throws ApiError INVALID_REQUEST
 */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body, {
    error: ({ code, input }) => (code === 'invalid_type' && input === undefined ? 'is missing' : undefined),
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where =
    issue === undefined || issue.path.length === 0 ? 'the body' : issue.path.map(String).join('.');
  throw new ApiError('INVALID_REQUEST', `${where}: ${issue?.message ?? 'does not fit'}`);
}

/** A form of the bind page. */
export const readForm = createFormReader({ maxBytes: MAX_BODY_BYTES['/bind'], wrongType: 'INVALID_REQUEST' });
