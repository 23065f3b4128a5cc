import { type Recipient, recipientSchema } from '@svault/shared/schemas';
import { usage } from './failure.ts';
import { jsonIn } from './json-in.ts';
import { readFileBounded } from './secret-input/read-bounded.ts';

const MAX_BYTES = 4_096;

/**
 * A public key that credentials are sealed to, as a command line gives it.
 * @param text a public JWK of P-256, P-384 or X25519, as `svault login --key` prints it; or `@FILE` of one
 * @throws Failure usage, without a word of the key: it could be the private one
 */
export async function publicJwk(text: string): Promise<Recipient> {
  const file = text.startsWith('@') ? text.slice(1) : undefined;
  const jwk = jsonIn(
    file === undefined ? text : Buffer.from(await readFileBounded(file, MAX_BYTES)).toString(),
  );
  if (jwk instanceof Object && 'd' in jwk)
    throw usage('that is a private key, which must stay secret; give its public part');
  const read = recipientSchema.safeParse(jwk);
  // The webhook refuses others too, after it has consumed the ticket. The module takes a while to load.
  const { isUsableRecipient } = await import('@svault/shared/sealed');
  if (read.success && isUsableRecipient(read.data)) return read.data;
  throw usage(
    'that is not a public JWK of a key of P-256, P-384 or X25519; svault login --key prints one for the agent that it signs in',
  );
}
