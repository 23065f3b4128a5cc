import { type BodyBounds, readBody } from '@svault/server-kit/raw-body';
import { JsonRefused, didYouMean, parseJsonObject } from '@svault/shared';
import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import { type ArgumentIssue, invalidArgument, ApiError } from '../../core/errors.ts';

/** How much of a body is read, by whether its sender is authenticated. */
export const BODY_LIMITS = {
  /** Far above the longest notes a token may have; management requests carry nothing larger. */
  authenticated: { maxBytes: 256 * 1024, sender: 'known' },
  /** A secret of 1,024 characters has 6 KiB where each is written as an escape. */
  unauthenticated: { maxBytes: 8 * 1024, sender: 'stranger' },
} as const;

/**
 * Reads a request's body: content type, size cap, JSON, in this order. Of another type nothing is read.
 *
 * @returns undefined when there is no body
 * @throws ApiError UNSUPPORTED_MEDIA_TYPE, TOO_LARGE, INVALID_REQUEST
 */
export async function readJsonBody(
  req: IncomingMessage,
  bounds: BodyBounds,
): Promise<Record<string, unknown> | undefined> {
  if (!hasBody(req)) return undefined;
  if (!isJson(req)) throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.');
  const bytes = await readBody(req, bounds);
  if (bytes.length === 0) return undefined;
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw error;
    throw new ApiError('INVALID_REQUEST', 'The body must be one JSON object in UTF-8.', {
      reason: error.reason,
    });
  }
}

/** RFC 9112 section 6.3. */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Whether a request says that its body is JSON. */
export const isJson = ({ headers }: IncomingMessage): boolean =>
  headers['content-type']?.split(';')[0]?.trim().toLowerCase() === 'application/json';

/** A response must not be larger than its request. */
const MAX_ISSUES = 100;

/**
 * Parses one part of a request.
 *
 * @throws ApiError INVALID_ARGUMENT with the first 100 issues; a member that the schema does not name is one of them
 */
export function parseInput<T>(schema: z.ZodType<T>, input: unknown): T {
  const result = schema.safeParse(input, { error: plainWords });
  const issues = result.success
    ? [...withNul(result.data, [])]
    : result.error.issues.flatMap((issue) => toIssues(issue, schema));
  if (result.success && issues.length === 0) return result.data;
  throw invalidArgument(issues.slice(0, MAX_ISSUES));
}

/** NUL is the one character that PostgreSQL's text cannot hold: no name, id or text of ours has it. */
function* withNul(value: unknown, path: readonly PropertyKey[]): Generator<ArgumentIssue> {
  if (typeof value === 'string' && value.includes('\0'))
    yield { path: pathText(path), message: 'must have no NUL' };
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* withNul(member, [...path, name]);
}

function toIssues(issue: z.core.$ZodIssue, schema: z.ZodType): ArgumentIssue[] {
  // Why the key of a record is invalid is in a nested issue.
  if (issue.code === 'invalid_key')
    return [{ path: pathText(issue.path), message: issue.issues[0]?.message ?? issue.message }];
  if (issue.code !== 'unrecognized_keys') return [{ path: pathText(issue.path), message: issue.message }];
  const known = schema instanceof z.ZodObject && issue.path.length === 0 ? Object.keys(schema.shape) : [];
  return issue.keys.map((key) => ({
    path: pathText([...issue.path, key]),
    message: `is not known here.${didYouMean(key, known)}`.replace(/\.$/, ''),
  }));
}

/** Replaces messages of zod that are about JavaScript. A message of the schema takes precedence. */
function plainWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'invalid_type') return undefined;
  if (issue.input === undefined) return 'is missing';
  return issue.expected === 'int' ? 'must be a whole number' : undefined;
}

const pathText = (path: readonly PropertyKey[]): string => path.map(String).join('.');
