import { z } from 'zod';
import { isServiceName } from '../service-name.ts';
import { parseTime } from '../times.ts';

/** PROTOCOL.md section 5: a service name. */
export const serviceNameSchema = z
  .string()
  .refine(
    isServiceName,
    'not a service name: 1 to 128 characters, no "/", no control characters, no spaces around it',
  );

/** PROTOCOL.md section 2: an instant, as text. `parseTime` gives milliseconds. */
export const timeSchema = z.string().refine((text) => parseTime(text) !== undefined, 'not a time in UTC');

/** An id that somebody else made: agents, proxies, owners, vaults, events. */
export const idSchema = z.string().regex(/^[A-Za-z0-9_.:-]{1,128}$/, 'not an id');

/** PROTOCOL.md section 5.3: starts at 1. */
export const versionSchema = z.int().min(1);

/** PROTOCOL.md section 5.3: a version to be replaced; 0 stands for none. */
export const ifVersionSchema = z.int().min(0);

/** Opaque; from a former page's `nextCursor`. */
export const cursorSchema = z.string().min(1).max(512);

/** PROTOCOL.md section 4: `cnf.jkt`, an RFC 7638 SHA-256 thumbprint. */
export const thumbprintSchema = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'not a SHA-256 thumbprint');
