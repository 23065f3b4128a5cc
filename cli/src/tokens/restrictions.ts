import { createPublicKey } from 'node:crypto';
import { recipientSchema } from '@svault/shared/schemas';
import type { SecretOptions } from '../commands/secret-options.ts';
import { usage } from '../failure.ts';
import { readFileBounded } from '../secret-input/read-bounded.ts';
import type { Members } from './record-members.ts';

const MAX_JWK_BYTES = 4_096;
/** For `--allow-host` and `--allow-header`: an empty list, said out loud. */
const NONE = 'none';

type RestrictionOptions = Pick<
  SecretOptions,
  'delivery' | 'allowHost' | 'allowHeader' | 'recipient' | 'expiresAt'
>;

/**
 * What is sealed with a secret, from the command line. Recipients alone mean sealed delivery.
 * @throws Failure usage
 */
export async function restrictionsFrom(options: RestrictionOptions): Promise<Members> {
  const { allowHost, allowHeader, expiresAt } = options;
  const recipients = await Promise.all((options.recipient ?? []).map(recipientFrom));
  const delivery = options.delivery ?? (recipients.length > 0 ? 'sealed' : undefined);
  return {
    ...(delivery !== undefined && { delivery }),
    ...(recipients.length > 0 && { recipients }),
    ...(allowHost !== undefined && { allowedHosts: listed('--allow-host', allowHost) }),
    ...(allowHeader !== undefined && { allowedHeaders: listed('--allow-header', allowHeader) }),
    ...(expiresAt !== undefined && { expiryTime: expiresAt }),
  };
}

function listed(flag: string, values: readonly string[]): readonly string[] {
  if (!values.includes(NONE)) return values;
  if (values.length === 1) return [];
  throw usage(`${flag} none stands alone`);
}

async function recipientFrom(text: string): Promise<Members> {
  const json = text.startsWith('@')
    ? Buffer.from(await readFileBounded(text.slice(1), MAX_JWK_BYTES)).toString()
    : text;
  let jwk: unknown;
  try {
    jwk = JSON.parse(json);
  } catch {
    // Said below.
  }
  if (typeof jwk === 'object' && jwk !== null && 'd' in jwk)
    throw usage('--recipient got a private key; take the public one, and let nobody else see this');
  const { data } = recipientSchema.safeParse(jwk);
  if (data === undefined || !isOnCurve(data))
    throw usage(
      '--recipient takes a public EC P-256 key as a JWK, which svault login --key prints, or @FILE with one',
    );
  return data;
}

/** The webhook refuses a point that is none, and uses up the ticket. */
function isOnCurve({ kty, crv, x, y }: { kty: string; crv: string; x: string; y: string }): boolean {
  try {
    createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}
