import { z } from 'zod';
import type {} from 'zod-openapi';
import { parseTime } from '@svault/shared';
import { serviceNameSchema as wireServiceName } from '@svault/shared/schemas';

export const timeSchema = z.string().meta({ format: 'date-time', examples: ['2026-11-20T12:00:00.000Z'] });

/** Protocol section 2: UTC, zero to nine digits of a second. */
export const isTime = (text: string): boolean => parseTime(text) !== undefined;

/** One line of text that people read: no control characters, no white space around it. */
export const lineSchema = (maxCharacters: number): z.ZodString =>
  z
    .string()
    .max(maxCharacters)
    .regex(/^[^\p{Cc}\s]([^\p{Cc}]*[^\p{Cc}\s])?$/u, 'must be one line without spaces around it');

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

/** Protocol section 5. */
export const serviceNameSchema = wireServiceName.meta({
  description: 'A service name: 1 to 128 characters, no slash, no control characters',
  examples: ['github'],
});

/** A service name in a path. Any text is let through: one that is no service name is not found, like an unknown one. */
export const serviceNameParams = z.object({ serviceName: z.string() });

/** An id in a path. Any text is let through: one that is no id is not found, like an unknown one. */
export const idParams = z.object({ id: z.string() });
