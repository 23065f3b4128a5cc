import { withoutHttps } from '@svault/shared/schemas';
import type { SecretOptions } from '../commands/secret-options.ts';
import { usage } from '../failure.ts';
import { publicJwk } from '../public-jwk.ts';
import type { Members } from './record-members.ts';

/** For `--allow-host` and `--allow-header`: an empty list, said out loud. */
const NONE = 'none';

type RestrictionOptions = Pick<
  SecretOptions,
  'delivery' | 'allowHost' | 'allowHeader' | 'allowShortSecret' | 'recipient' | 'expiresAt'
>;

/**
 * What is sealed with a secret, from the command line. Recipients alone mean sealed delivery.
 * @throws Failure usage
 */
export async function restrictionsFrom(options: RestrictionOptions): Promise<Members> {
  const { allowHost, allowHeader, allowShortSecret, expiresAt } = options;
  const recipients = await Promise.all((options.recipient ?? []).map(publicJwk));
  const delivery = options.delivery ?? (recipients.length > 0 ? 'sealed' : undefined);
  return {
    ...(delivery !== undefined && { delivery }),
    ...(recipients.length > 0 && { recipients }),
    ...(allowHost !== undefined && { allowedHosts: listed('--allow-host', allowHost).map(withoutHttps) }),
    ...(allowHeader !== undefined && { allowedHeaders: listed('--allow-header', allowHeader) }),
    ...(allowShortSecret === true && { allowShortSecret }),
    ...(expiresAt !== undefined && { expiryTime: expiresAt }),
  };
}

function listed(flag: string, values: readonly string[]): readonly string[] {
  if (!values.includes(NONE)) return values;
  if (values.length === 1) return [];
  throw usage(`${flag} none stands alone`);
}
