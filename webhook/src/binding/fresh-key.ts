import { randomBytes } from 'node:crypto';
import { randomToken } from '@svault/shared';

/** 128 random bits: 22 characters, and so never `bind`. */
export const newKeyId = (): string => randomToken();

/** The binding's key (protocol section 5.1): 32 random bytes. */
export const newHmacSecret = (): Buffer => randomBytes(32);
