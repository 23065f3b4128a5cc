import { type Clock, randomToken } from '@svault/shared';
import type { Logger } from '@svault/server-kit/logger';
import { ApiError } from '../errors.ts';
import { createSlidingWindow } from '../sliding-window.ts';
import { type BindingCodes, alreadyBound, needsUnseal } from './binding-codes.ts';
import { type BindingStore, newHmacSecret } from './binding-store.ts';
import type { BindingReader } from './binding.ts';
import { hmacHashOf, makeRegistration } from './registration-link.ts';

/** How long the page with the fingerprint may stay open before the owner presses Connect. */
const OFFER_LIFETIME_MS = 10 * 60_000;
/** Open pages at a time; the oldest is dropped. */
const MAX_OFFERS = 16;
/** A token of 128 bits is not guessed: the bound protects the log, and the right token is always accepted. */
const WRONG_TOKENS_PER_MINUTE = 10;

/** Offers of open pages. They live in the process alone: a restart asks for the set-up token again. */
export function createBindOffers({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }) {
  const makeOffer = () => {
    // The binding's secret if the owner connects.
    const secret = newHmacSecret();
    return { secret, hmacHash: hmacHashOf(secret), endsAtMs: clock.monotonic() + OFFER_LIFETIME_MS };
  };
  const offers = new Map<string, ReturnType<typeof makeOffer>>();
  return {
    /** A new secret for a page; the token in its form proves that the set-up token was given. */
    make: () => {
      const token = randomToken(32);
      const offer = makeOffer();
      offers.set(token, offer);
      const [oldest] = offers.keys();
      if (offers.size > MAX_OFFERS && oldest !== undefined) offers.delete(oldest);
      return { ...offer, token };
    },
    /** The offer of a token, once. */
    take: (token: string) => {
      const offer = offers.get(token);
      offers.delete(token);
      return offer !== undefined && clock.monotonic() < offer.endsAtMs ? offer : undefined;
    },
  };
}

/** The steps of the bind page (PROTOCOL.md section 5.1), without its HTML. */
export function createBindFlow(deps: {
  readonly binding: BindingReader;
  readonly bindings: Pick<BindingStore, 'needsUnseal'>;
  readonly isSetupToken: (text: string) => boolean;
  readonly codes: Pick<BindingCodes, 'make'>;
  readonly clock: Clock;
  readonly serviceUrl: string;
  readonly webhookUrl: string;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
}) {
  const { clock, serviceUrl, logger } = deps;
  const offers = createBindOffers({ clock });
  const wrongTokens = createSlidingWindow({ clock, limit: WRONG_TOKENS_PER_MINUTE, windowMs: 60_000 });

  const isBound = (): boolean => deps.binding()?.complete === true;

  /** @throws ApiError SETUP_REQUIRED once a binding is complete, and after a restore until `unseal-bind` */
  const mustBeOpen = (): void => {
    if (isBound()) throw alreadyBound();
    if (deps.bindings.needsUnseal()) throw needsUnseal();
  };

  return {
    mustBeOpen,
    /**
     * The offer for the next page; undefined for a wrong set-up token.
     *
     * @throws ApiError RATE_LIMITED for a wrong one beyond 10 a minute; SETUP_REQUIRED
     */
    enter: (setupToken: string) => {
      mustBeOpen();
      if (deps.isSetupToken(setupToken)) return offers.make();
      const retryAfter = wrongTokens.take('');
      if (retryAfter !== undefined) {
        throw new ApiError('RATE_LIMITED', 'too many wrong set-up tokens; the right one is still accepted', {
          details: { retryAfter },
        });
      }
      logger.warn({ reason: 'setup_token_wrong' }, 'the bind page was refused');
      return undefined;
    },
    /**
     * Makes a code for a page's offer and returns the registration link; undefined for an expired or consumed page.
     *
     * @throws ApiError SETUP_REQUIRED
     */
    connect: async (offerToken: string): Promise<string | undefined> => {
      mustBeOpen();
      const offer = offers.take(offerToken);
      if (offer === undefined) return undefined;
      const { link } = await makeRegistration(deps, offer.secret);
      logger.info({ serviceUrl }, 'a binding code was made');
      return link;
    },
    /** Drops a page's offer. */
    cancel: (offerToken: string): void => void offers.take(offerToken),
    isBound,
  };
}

export type BindFlow = ReturnType<typeof createBindFlow>;
