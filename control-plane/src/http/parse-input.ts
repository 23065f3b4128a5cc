import type { z } from 'zod';
import { type ArgumentIssue, invalidArgument } from '../errors.ts';

/**
 * Parses one part of a request.
 *
 * @throws AppError INVALID_ARGUMENT with every issue; a member that the schema does not name is one of them
 */
export function parseInput<T>(schema: z.ZodType<T>, input: unknown): T {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw invalidArgument(result.error.issues.flatMap(toIssues));
}

function toIssues(issue: z.core.$ZodIssue): ArgumentIssue[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ path: pathText([...issue.path, key]), message: 'is not known here' }));
  return [{ path: pathText(issue.path), message: issue.message }];
}

const pathText = (path: readonly PropertyKey[]): string => path.map(String).join('.');
