import { usage } from '../failure.ts';

/**
 * Where a key or a secret may be sent: https, or http on this machine. Anything else would show it on the way.
 * @returns undefined for any other address, one with a user name in it too
 */
export function safeAddress(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return undefined;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isOnThisMachine(url)) ? url : undefined;
}

/** Whether an address leads nowhere else. */
export const isOnThisMachine = ({ hostname }: URL): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);

/** The address of a control plane, as it was typed. @returns without a trailing slash. @throws Failure usage */
export function parseBaseUrl(text: string): string {
  const url = safeAddress(text);
  if (url === undefined) {
    const plain = URL.parse(text);
    const next =
      plain?.protocol === 'http:' ? `; use https://${plain.host} in SVAULT_BASE_URL or --base-url` : '';
    throw usage(
      `${withoutSecrets(text)} is not the address of a control plane: use https://…, or http:// on this machine${next}`,
    );
  }
  if (url.search !== '' || url.hash !== '')
    throw usage(
      `${withoutSecrets(text)} has a query or a fragment, which the address of a control plane never has`,
    );
  return url.href.replace(/\/+$/, '');
}

/** The part of a typed address that a message may show: no user, no password and no query. */
const withoutSecrets = (text: string): string =>
  text.replace(/^(\w+:\/\/)?.*@/s, '$1…@').replace(/[?#].*$/s, '…');
