const BIND_PATH = '/vault/webhook-bind';

/** @returns what is wrong with the address of a webhook, as a sentence */
export function problemOfAddress(text: string): string | undefined {
  const url = URL.parse(text.trim());
  return url?.protocol === 'https:' || url?.protocol === 'http:'
    ? undefined
    : 'Enter an address that begins with https://.';
}

/** The bind page of a webhook. @param address without a problem by `problemOfAddress` */
export function bindPageOf(address: string): string {
  const { origin, pathname } = new URL(address.trim());
  return `${origin}${pathname.replace(/\/(?:bind)?\/?$/, '')}/bind`;
}

/** The links in what `bind-link` prints: the link, its fingerprint and when it expires. */
const linksIn = (text: string): readonly URL[] =>
  [...new Set(text.match(/https?:\/\/[^\s<>"']+/g))]
    .map((link) => URL.parse(link))
    .filter((url) => url !== null)
    .filter(({ pathname }) => pathname.endsWith(BIND_PATH));

/** @returns what is wrong with a pasted registration link, as a sentence that does not repeat its code */
export function problemOfLink(text: string): string | undefined {
  const [link, another] = linksIn(text);
  if (link === undefined) return `Paste the whole link: https://…${BIND_PATH}?code=…`;
  if (another !== undefined) return 'Paste one link alone.';
  if (link.origin !== window.location.origin || link.pathname !== BIND_PATH)
    return `This link is for the control plane at ${link.host}. Set SV_WEBHOOK_SERVICE_URL of the webhook to ${window.location.origin}.`;
  return undefined;
}

/** The page that shows the fingerprint of a link and binds. @param text without a problem by `problemOfLink` */
export const registrationPathIn = (text: string): string => `${BIND_PATH}${linksIn(text)[0]?.search ?? ''}`;
