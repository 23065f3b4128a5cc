import type { z } from 'zod';
import { refusal } from '../errors.ts';

/**
 * Reads a parsed body by its schema. The refusal names the first member that does not fit and what is wrong with it,
 * never its value.
 *
 * @throws AppError INVALID_REQUEST
 */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body, {
    error: ({ code, input }) => (code === 'invalid_type' && input === undefined ? 'is missing' : undefined),
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where =
    issue === undefined || issue.path.length === 0 ? 'the body' : issue.path.map(String).join('.');
  throw refusal('INVALID_REQUEST', `${where}: ${issue?.message ?? 'does not fit'}`);
}
