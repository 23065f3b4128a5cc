import { type IdPrefix, isId, parseTime } from '@svault/shared';
import { serviceNameSchema as wireServiceName } from '@svault/shared/schemas';
import * as z from 'zod';
import type {} from 'zod-openapi';
import { invalidArgument } from '../../core/errors.ts';
import { GRANTS_COUNTED_UP_TO } from '../../core/grant.ts';
import { nameKey } from '../../core/name.ts';
import { EMAIL_CHARACTERS } from '../../core/user.ts';
import { type NamedPageRequest, type Page, type PageRequest, readCursor } from '../../core/paging.ts';

/** Longer than any password or token: what does not fit is wrong like any other, and not malformed. */
export const SECRET_CHARACTERS = 1_024;

export const timeSchema = z.string().meta({ format: 'date-time', examples: ['2026-11-20T12:00:00.000Z'] });

/** PROTOCOL.md section 2: UTC, zero to nine digits of a second. */
export const isTime = (text: string): boolean => parseTime(text) !== undefined;

/** A time that a request names. */
export const timeInputSchema = timeSchema.refine(isTime, 'must be a time like 2026-11-20T12:00:00Z');

/** One line of text that people read: no control characters, no white space around it. */
export const lineSchema = (maxCharacters: number): z.ZodString =>
  z
    .string()
    .max(maxCharacters)
    .regex(/^[^\p{Cc}\s]([^\p{Cc}]*[^\p{Cc}\s])?$/u, 'must be one line without spaces around it');

/** A name that a reference can be: it has not the form of an id, and there is something to see. */
export const nameSchema = (prefix: IdPrefix): z.ZodString =>
  lineSchema(100)
    .refine((name) => !isId(prefix, name), 'must not have the form of an id')
    .refine((name) => nameKey(name) !== '', 'must have a visible character');

/** A list in which nothing occurs twice; the place of a repetition is named. */
export const uniqueList = <T extends z.ZodType<string>>(item: T, maxItems: number): z.ZodArray<T> =>
  z
    .array(item)
    .max(maxItems)
    .superRefine((items, context) => {
      for (const [index, text] of items.entries())
        if (items.indexOf(text) < index)
          context.addIssue({ code: 'custom', path: [index], message: 'is in the list already' });
    })
    .meta({ uniqueItems: true });

/** Text of several lines. */
export const textSchema = (maxCharacters: number): z.ZodString =>
  z
    .string()
    .max(maxCharacters)
    .regex(/^[^\p{Cc}]*(?:[\n\r\t][^\p{Cc}]*)*$/u, 'must have no control characters but tabs and line ends');

/** PROTOCOL.md section 5. */
export const serviceNameSchema = wireServiceName.meta({
  description: 'A service name: 1 to 128 characters, no slash, no control characters',
  examples: ['github'],
});

/** For a grant or a proxy of a service name that is no credential yet. */
export const allowMissingSchema = z.boolean().optional().meta({
  description: 'true: the account need not have a credential of this name yet',
});

/** A service name in a path. */
export const serviceNameParams = z.object({ serviceName: serviceNameSchema });

/** An id of one kind; a text of another form is malformed, and not an unknown id. */
export const idSchema = (prefix: IdPrefix): z.ZodString =>
  z
    .string()
    .refine((text) => isId(prefix, text), `must be an id such as ${prefix}_…, 26 characters long`)
    .meta({ examples: [`${prefix}_…`] });

/** An id in a path. */
export const idParams = (prefix: IdPrefix): z.ZodObject<{ id: z.ZodString }> =>
  z.object({ id: idSchema(prefix) });

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

/** Of lists whose items have names. */
export const namedPageQuery = {
  ...pageQuery,
  name: z
    .string()
    .max(EMAIL_CHARACTERS)
    .regex(/^\P{Cc}*$/u, 'must be one line')
    .optional()
    .meta({
      description:
        'Only items whose name contains this text, in upper or lower case; with very many items a page may then hold less than asked for and still have a cursor',
    }),
};

/**
 * The page that a list's query asks for.
 *
 * @param parts how many parts the list's sort key has; time and id unless given
 * @throws ApiError INVALID_ARGUMENT for a cursor that no page of such a list gave
 */
export function pageRequest(
  query: { readonly limit?: string | undefined; readonly cursor?: string | undefined },
  parts = 2,
): PageRequest {
  const limit = query.limit === undefined ? DEFAULT_PAGE : Number(query.limit);
  if (query.cursor === undefined) return { limit, after: undefined };
  const after = readCursor(query.cursor, parts);
  if (after === undefined) throw invalidArgument([{ path: 'cursor', message: 'is no cursor of this list' }]);
  return { limit, after };
}

/** The same for a list of {@link namedPageQuery}. */
export const namedPageRequest = (
  query: Parameters<typeof pageRequest>[0] & { readonly name?: string | undefined },
  parts?: number,
): NamedPageRequest => ({ ...pageRequest(query, parts), name: query.name });

/** A page of a list as it is shown. */
export async function viewOfPage<T, View>(
  page: Promise<Page<T>>,
  viewOf: (item: T) => View,
): Promise<Page<View>> {
  const { items, ...rest } = await page;
  return { items: items.map((item) => viewOf(item)), ...rest };
}

/** In lists, so that no one asks for each of their items. */
export const grantCountSchema = z.int().meta({
  description: `How many grants it has, expired ones too; ${GRANTS_COUNTED_UP_TO} stands for itself or more`,
});

/** `{ items, nextCursor? }` */
export function pageSchema<T extends z.ZodType>(
  item: T,
): z.ZodObject<{ items: z.ZodArray<T>; nextCursor: z.ZodOptional<z.ZodString> }> {
  return z.object({
    items: z.array(item),
    nextCursor: z.string().optional().meta({ description: 'Opaque; absent when nothing is left' }),
  });
}
