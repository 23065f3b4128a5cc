import { UsageError } from './errors.ts';

const LOOPBACK = /^(?:localhost|\[::1\]|127(?:\.\d{1,3}){3})$/;
/** A ticket has at most 4096 characters and a webhook's address 2048 (PROTOCOL.md, section 4). */
const MAX_CHARACTERS = 8_192;

/**
 * Where a key or a ticket may be sent: https, or http on this machine.
 * @returns undefined for any other address, one with a user name or a fragment too
 */
export function safeAddress(text: string): URL | undefined {
  // Visible ASCII alone, and no backslash, which URL reads as a slash.
  if (text.length > MAX_CHARACTERS || !/^https?:\/\/[^/][!-[\]-~]*$/i.test(text) || !URL.canParse(text))
    return undefined;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || text.includes('#')) return undefined;
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname))
    ? url
    : undefined;
}

/**
 * The address of a control plane or a webhook, without a trailing slash.
 * @param what it is called in the message
 * @throws UsageError for another; the message does not repeat it
 */
export function baseAddress(text: string, what: string): string {
  const url = safeAddress(text);
  if (url === undefined || url.search !== '')
    throw new UsageError(
      `${what} has to be an https:// address, or http:// on this machine, without a query`,
    );
  return url.href.replace(/\/+$/, '');
}
