import { z } from 'zod';
import type {} from 'zod-openapi';
import { invalidArgument } from '../../../core/errors.ts';
import { type PageRequest, readCursor } from '../../../core/paging.ts';

/** Most items of one page. A list of tokens asks the webhook about a page in one batch, which takes 100. */
const MAX_PAGE = 100;
const DEFAULT_PAGE = 50;

export const pageQuery = {
  limit: z
    .string()
    .refine(
      (text) => /^[1-9][0-9]{0,2}$/.test(text) && Number(text) <= MAX_PAGE,
      `must be a whole number from 1 to ${MAX_PAGE}`,
    )
    .optional()
    .meta({
      description: 'Most items to give',
      override: { type: 'integer', minimum: 1, maximum: MAX_PAGE, default: DEFAULT_PAGE },
    }),
  cursor: z.string().max(1_000).optional().meta({ description: 'nextCursor of the page before' }),
};

/**
 * The page that a list's query asks for.
 *
 * @param parts how many parts the list's sort key has
 * @throws AppError INVALID_ARGUMENT for a cursor that no page of such a list gave
 */
export function pageRequest(
  query: { readonly limit?: string | undefined; readonly cursor?: string | undefined },
  parts: number,
): PageRequest {
  const limit = query.limit === undefined ? DEFAULT_PAGE : Number(query.limit);
  if (query.cursor === undefined) return { limit, after: undefined };
  const after = readCursor(query.cursor, parts);
  if (after === undefined) throw invalidArgument([{ path: 'cursor', message: 'is no cursor of this list' }]);
  return { limit, after };
}

/** `{ items, nextCursor? }` */
export function pageSchema<T extends z.ZodType>(
  item: T,
): z.ZodObject<{ items: z.ZodArray<T>; nextCursor: z.ZodOptional<z.ZodString> }> {
  return z.object({
    items: z.array(item),
    nextCursor: z.string().optional().meta({ description: 'Opaque; absent when nothing is left' }),
  });
}
