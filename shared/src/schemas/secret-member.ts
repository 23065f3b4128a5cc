import { z } from 'zod';
import { MAX_SECRET_BYTES } from './vocabulary.ts';

/** PROTOCOL.md section 5.5: a secret field, at most 64 KiB of UTF-8; `""` is allowed and makes a record empty. */
export const secretSchema = z
  .string()
  .refine((text) => Buffer.byteLength(text, 'utf8') <= MAX_SECRET_BYTES, 'a secret field has at most 64 KiB');

/** A setting beside a secret: a client id, a region, a scope. */
export const settingSchema = z.string().min(1).max(2048);
