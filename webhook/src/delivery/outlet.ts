import type { CredentialTicket } from '@svault/shared';
import type { Recipient } from '@svault/shared/schemas';
import { jwkThumbprint as thumbprint } from '@svault/shared/sealed';
import { refusal } from '../errors.ts';
import type { SealedSettings } from '../vault/record.ts';

/** How a record leaves. */
export type Outlet =
  | { readonly how: 'plain' }
  | { readonly how: 'sealed'; readonly recipient: Recipient; readonly thumbprint: string };

/**
 * How a record leaves for a ticket, by what was sealed with it; the ticket has no say but which recipient.
 *
 * @throws AppError DELIVERY_NOT_ALLOWED
 */
export function chooseOutlet(settings: SealedSettings, { cnf }: Pick<CredentialTicket, 'cnf'>): Outlet {
  switch (settings.delivery) {
    case 'any':
      return { how: 'plain' };
    case 'proxy-only':
      throw refusal('DELIVERY_NOT_ALLOWED', 'this credential is used through a proxy only');
    case 'sealed': {
      const recipient = settings.recipients?.find((candidate) => thumbprint(candidate) === cnf?.jkt);
      if (recipient === undefined || cnf === undefined)
        throw refusal('DELIVERY_NOT_ALLOWED', 'this credential is delivered only to its own recipients');
      return { how: 'sealed', recipient, thumbprint: cnf.jkt };
    }
  }
}
