import { type Clock, randomToken } from '@svault/shared';
import { newHmacSecret } from './fresh-key.ts';
import { hmacHashOf } from './registration-link.ts';

/** How long the page with the fingerprint may stand before connect is pressed. */
const OFFER_LIFETIME_MS = 10 * 60_000;
/** Pages that stand open at a time; the oldest gives way. */
const MAX_OFFERS = 16;

/** What a page that the owner opened with the set-up token offers to connect. */
export interface BindOffer {
  /** 32 random bytes, the binding's secret if this offer is taken. */
  readonly secret: Uint8Array;
  readonly hmacHash: string;
}

/** Offers of open pages. They live in the process alone: a restart asks for the set-up token again. */
export interface BindOffers {
  /** A fresh secret for a page; the token in its form stands for it, and for the set-up token that was shown. */
  make(): BindOffer & { readonly token: string };
  /** The offer behind a token, once. */
  take(token: string): BindOffer | undefined;
}

export function createBindOffers(deps: { readonly clock: Pick<Clock, 'monotonic'> }): BindOffers {
  const { clock } = deps;
  const offers = new Map<string, BindOffer & { readonly endsAtMs: number }>();
  return {
    make: () => {
      const secret = newHmacSecret();
      const token = randomToken(32);
      const offer = { secret, hmacHash: hmacHashOf(secret) };
      offers.set(token, { ...offer, endsAtMs: clock.monotonic() + OFFER_LIFETIME_MS });
      const [oldest] = offers.keys();
      if (offers.size > MAX_OFFERS && oldest !== undefined) offers.delete(oldest);
      return { ...offer, token };
    },
    take: (token) => {
      const offer = offers.get(token);
      offers.delete(token);
      return offer !== undefined && clock.monotonic() < offer.endsAtMs ? offer : undefined;
    },
  };
}
