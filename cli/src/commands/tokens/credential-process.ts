import { parseJsonObject, parseTime } from '@svault/shared';
import * as z from 'zod';

const textSchema = z.string().min(1);

/** AWS SDKs and Tools Reference Guide, "Process credential provider". Further members are for other tools to read. */
const credentialsSchema = z.looseObject({
  Version: z.literal(1),
  AccessKeyId: textSchema,
  SecretAccessKey: textSchema,
  SessionToken: textSchema.optional(),
  /** ISO 8601; without it, tools take the keys for long-lived. */
  Expiration: z
    .string()
    .refine((text) => parseTime(text) !== undefined || !Number.isNaN(Date.parse(text)))
    .optional(),
});

/**
 * A credential as AWS tools read it from a `credential_process`: one line of JSON.
 * @returns undefined for a value that is none
 */
export function credentialProcessLine(value: string): string | undefined {
  try {
    const { data } = credentialsSchema.safeParse(parseJsonObject(Buffer.from(value), { numbers: 'any' }));
    return data === undefined ? undefined : `${JSON.stringify(data)}\n`;
  } catch {
    return undefined;
  }
}
