import { type StoreBody, storeBodySchema } from '@svault/shared/schemas';
import { createPrivateKey } from 'node:crypto';
import { Failure, usage } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { plainLine } from '../../output/plain-line.ts';
import { type GivenRecord, withMissingSecret } from './given-record.ts';
import { type TokenType, missingSecret } from './needed-secret.ts';
import type { SecretOptions } from './options.ts';
import type { Members } from './record-members.ts';

const SHOWN_ISSUES = 5;
/** What the providers sign with (RFC 7518 section 3.3). */
const KEY_BITS = { min: 2_048, max: 8_192 };

/** What a command line says, with the secret that it lacks, which is read last. @throws Failure usage; interrupted */
export async function wholeRecord(
  invocation: Invocation,
  options: SecretOptions,
  { name, tokenType, given }: { name: string; tokenType: TokenType; given: GivenRecord },
): Promise<StoreBody> {
  const { members } = given;
  const missing = missingSecret(tokenType, members);
  const whole = await withMissingSecret(invocation, options, { name, members, missing });
  return checkedRecord({ ...whole, tokenType });
}

/**
 * A record as the webhook takes it: checked here first, since a refusal there would use up a ticket and leave a token
 * without a secret behind.
 * @throws Failure usage that names what does not fit, and none of its values
 */
export function checkedRecord(members: Members): StoreBody {
  const parsed = storeBodySchema.safeParse(members, {
    error: ({ code, input }) => (code === 'invalid_type' && input === undefined ? 'is missing' : undefined),
  });
  if (!parsed.success) {
    const issues = parsed.error.issues
      .slice(0, SHOWN_ISSUES)
      .map(({ path, message }) => ({ path: path.map(String).join('.'), message }));
    const problems = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
    throw new Failure('usage', plainLine(`this cannot be stored: ${problems.join('; ')}`), { issues });
  }
  checkMinterKey(parsed.data);
  return parsed.data;
}

function checkMinterKey(body: StoreBody): void {
  if (body.tokenType !== 'RawCredential' || body.minter === undefined || body.minter.type === 'aws-sts')
    return;
  const { privateKey } = body.minter;
  if (privateKey !== '' && !isSigningKey(privateKey))
    throw usage('this cannot be stored: minter.privateKey: not an RSA key of 2048 to 8192 bits in PEM');
}

function isSigningKey(pem: string): boolean {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey({ key: pem, format: 'pem' });
    const bits = asymmetricKeyDetails?.modulusLength ?? 0;
    return asymmetricKeyType === 'rsa' && bits >= KEY_BITS.min && bits <= KEY_BITS.max;
  } catch {
    return false;
  }
}
