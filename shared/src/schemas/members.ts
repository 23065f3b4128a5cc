import * as z from 'zod';
import { byteLength } from '../byte-length.ts';
import { isServiceName } from '../service-name.ts';
import { parseTime } from '../clock.ts';
import { MAX_SECRET_BYTES } from './vocabulary.ts';

/** PROTOCOL.md section 5: a service name. */
export const serviceNameSchema = z
  .string()
  .refine(
    isServiceName,
    'not a service name: 1 to 128 characters, no "/", no control characters, no spaces around it',
  );

/** PROTOCOL.md section 2: an instant, as text. `parseTime` gives milliseconds. */
export const timeSchema = z.string().refine((text) => parseTime(text) !== undefined, 'not a time in UTC');

/** An id that another program made: of agents, proxies, owners, vaults, events. */
export const idSchema = z.string().regex(/^[A-Za-z0-9_.:-]{1,128}$/, 'not an id');

/** PROTOCOL.md section 5.3: starts at 1. */
export const versionSchema = z.int().min(1);

/** PROTOCOL.md section 5.3: a version to replace; 0 means none. */
export const ifVersionSchema = z.int().min(0);

/** Opaque; from a former page's `nextCursor`. */
export const cursorSchema = z.string().min(1).max(512);

/** PROTOCOL.md section 4: `cnf.jkt`, an RFC 7638 SHA-256 thumbprint. */
export const thumbprintSchema = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'not a SHA-256 thumbprint');

/** PROTOCOL.md section 5.5: a secret field, at most 64 KiB of UTF-8; `""` is allowed and makes a record empty. */
export const secretSchema = z
  .string()
  .refine((text) => byteLength(text) <= MAX_SECRET_BYTES, 'a secret field has at most 64 KiB');

/** A setting stored with a secret: a client id, a region, a scope. */
export const settingSchema = z.string().min(1).max(2048);

/** PROTOCOL.md section 2: every rejection. `code` is one of `WEBHOOK_ERROR_STATUS` if a webhook wrote it. */
export const errorBodySchema = z.looseObject({ error: z.string(), code: z.string() });
export type ErrorBody = z.infer<typeof errorBodySchema>;
