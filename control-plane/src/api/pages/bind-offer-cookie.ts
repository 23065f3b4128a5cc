import { fromBase64url, toBase64url, utf8 } from '@svault/shared';
import { readCookie } from '../http/cookies.ts';
import { type BindOffer, readOffer } from '../../webhook/registration-link.ts';

/** As long as the code holds (specification, "Endpoints": `/vault/webhook-bind`). */
const LIFETIME_SECONDS = 300;

/**
 * Holds a link's parameters between the request that brought them and the page, so that they leave the address bar
 * at once and outlast a sign-in. Of its content nothing is believed: the page shows it, and the form posts what the
 * page showed.
 */
export function bindOfferCookie({ path, https }: { readonly path: string; readonly https: boolean }): {
  set(offer: BindOffer): string;
  clear(): string;
  read(cookieHeader: string | undefined): BindOffer | undefined;
} {
  const name = https ? '__Secure-svault-bind' : 'svault-bind';
  const attributes = `Path=${path}; HttpOnly; SameSite=Lax${https ? '; Secure' : ''}`;
  return {
    set: (offer) =>
      `${name}=${toBase64url(utf8(JSON.stringify(offer)))}; ${attributes}; Max-Age=${LIFETIME_SECONDS}`,
    clear: () => `${name}=; ${attributes}; Max-Age=0`,
    read: (header) => {
      const bytes = fromBase64url(readCookie(header, name) ?? '');
      return bytes === undefined || bytes.length === 0
        ? undefined
        : parseOffer(Buffer.from(bytes).toString());
    },
  };
}

function parseOffer(json: string): BindOffer | undefined {
  try {
    const parts: unknown = JSON.parse(json);
    if (typeof parts !== 'object' || parts === null) return undefined;
    const text = (name: string): string | undefined => {
      const value: unknown = Reflect.get(parts, name);
      return typeof value === 'string' ? value : undefined;
    };
    return readOffer({ code: text('code'), webhookUrl: text('webhookUrl'), hmacHash: text('hmacHash') });
  } catch {
    return undefined;
  }
}
