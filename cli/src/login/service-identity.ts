import { isOnThisMachine, safeAddress } from '../http/service-address.ts';

/**
 * Whether a page of a sign-in is the service's own. One that was broken into, or means harm, could have another service's opened,
 * where the same person is signed in: what they allow there would come back to it (RFC 9700 section 4.4).
 *
 * @param baseUrl of the service. One on this machine may be a tunnel's end, and call itself otherwise: any page will do there
 */
export const isPageOf = (page: URL, baseUrl: string): boolean =>
  isOnThisMachine(new URL(baseUrl)) || page.href.startsWith(`${baseUrl}/`);

/**
 * Whether a browser's answer is of the service that was asked (RFC 9207): its own page can lead to that of another one too.
 * @param issuer as the answer names it
 */
export const isAnswerOf = (issuer: string | undefined, baseUrl: string): boolean =>
  isOnThisMachine(new URL(baseUrl)) ||
  (issuer !== undefined && safeAddress(issuer)?.href.replace(/\/+$/, '') === baseUrl);
