import type { Clock } from '@svault/shared';
import type { Logger } from '@svault/server-kit/logger';
import { refusal } from '../errors.ts';
import { createAttemptLimit } from './attempt-limit.ts';
import { type BindOffer, createBindOffers } from './bind-offers.ts';
import { type BindingCodes, boundAlready, unsealFirst } from './binding-codes.ts';
import type { BindingReader } from './binding.ts';
import { makeRegistration } from './registration-link.ts';

/** Protocol section 5.1. A token of 128 bits is not guessed: the bound is for the log, and the right one is always taken. */
const WRONG_TOKENS_PER_MINUTE = 10;

/** What the owner does on the bind page, without its HTML. */
export interface BindDesk {
  /** @throws AppError SETUP_REQUIRED once a binding is complete, and after a restore until `unseal-bind` */
  mustBeOpen(): void;
  /**
   * The next page for the right set-up token; undefined for a wrong one.
   *
   * @throws AppError RATE_LIMITED for a wrong one beyond 10 a minute; SETUP_REQUIRED
   */
  enter(setupToken: string): (BindOffer & { readonly token: string }) | undefined;
  /**
   * Mints a code for the offer behind a page and gives the address at the service to go to; undefined for a page that
   * is too old or was used.
   *
   * @throws AppError SETUP_REQUIRED
   */
  connect(offerToken: string): Promise<string | undefined>;
}

export function createBindDesk(deps: {
  readonly binding: BindingReader;
  readonly needsUnseal: () => boolean;
  readonly isSetupToken: (text: string) => boolean;
  readonly codes: Pick<BindingCodes, 'mint'>;
  readonly clock: Clock;
  readonly serviceUrl: string;
  readonly webhookUrl: string;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
}): BindDesk {
  const { clock, codes, serviceUrl, webhookUrl, logger } = deps;
  const offers = createBindOffers({ clock });
  const wrongTokens = createAttemptLimit({ clock, limit: WRONG_TOKENS_PER_MINUTE, windowMs: 60_000 });

  const mustBeOpen = (): void => {
    if (deps.binding()?.complete === true) throw boundAlready();
    if (deps.needsUnseal()) throw unsealFirst();
  };

  return {
    mustBeOpen,
    enter: (setupToken) => {
      mustBeOpen();
      if (deps.isSetupToken(setupToken)) return offers.make();
      const retryAfter = wrongTokens.take();
      if (retryAfter !== undefined) {
        throw refusal('RATE_LIMITED', 'too many wrong set-up tokens; the right one is still accepted', {
          details: { retryAfter },
        });
      }
      logger.warn({ reason: 'setup_token_wrong' }, 'the bind page was refused');
      return undefined;
    },
    connect: async (offerToken) => {
      mustBeOpen();
      const offer = offers.take(offerToken);
      if (offer === undefined) return undefined;
      const { link } = await makeRegistration({ codes, serviceUrl, webhookUrl }, offer.secret);
      logger.info({ serviceUrl }, 'a binding code was made');
      return link;
    },
  };
}
