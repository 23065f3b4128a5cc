import { parseWireObject } from '@svault/shared';
import { type CredentialEnvelope, credentialEnvelopeSchema } from '@svault/shared/schemas';
import type { ActingLogin } from '../contexts/acting-login.ts';
import { failed } from '../failure.ts';
import type { Delivery } from './fetch-delivery.ts';

/** What was delivered: a token of the credential envelope, all that the webhook said of it included (protocol 5.4). */
export type DeliveredToken = CredentialEnvelope['token'];

/** Whether it came for a key of the agent's alone. */
export const isSealed = ({ answer }: Delivery): boolean =>
  /^application\/jose(?:\s*;|$)/i.test(answer.headers.get('content-type') ?? '');

/**
 * Reads what was delivered, and opens it where it is sealed.
 * @param name the one that was asked for: another one's credential would be used where it should not be known
 * @throws Failure
 */
export async function openDelivery(
  delivery: Delivery,
  login: ActingLogin,
  name: string,
): Promise<DeliveredToken> {
  const token = isSealed(delivery) ? await unsealed(delivery, login, name) : plain(delivery);
  if (token.serviceName !== name)
    throw failed(`${delivery.from.host} sent another credential than ${name}; it is not shown`);
  return token;
}

/** Members that the schema does not know stay: they are the webhook's to tell. */
function plain({ answer, from }: Delivery): DeliveredToken {
  const said = jsonIn(answer.bytes);
  if (!credentialEnvelopeSchema.safeParse(said).success)
    throw failed(`what ${from.host} sent is not a credential; is that the webhook?`);
  return (said as CredentialEnvelope).token;
}

function jsonIn(bytes: Uint8Array): unknown {
  try {
    return parseWireObject(bytes);
  } catch {
    return undefined;
  }
}

async function unsealed(
  { answer, from }: Delivery,
  login: ActingLogin,
  name: string,
): Promise<DeliveredToken> {
  const jwk = await login.sealingKey();
  if (jwk === undefined)
    throw failed(
      `${name} came sealed, and ${login.context.name} keeps no key that opens it: svault login --key keeps one`,
    );
  // Takes a while to load, and few need it.
  const { SealedRefused, openSealed, readSealingKey } = await import('@svault/shared/sealed');
  try {
    return (await openSealed(answer.text.trim(), readSealingKey(jwk))).reveal().token;
  } catch (error) {
    if (error instanceof RangeError)
      throw failed(`the sealing key that ${login.context.name} keeps is damaged: svault login --key`, error);
    if (!(error instanceof SealedRefused)) throw error;
    throw failed(
      error.reason === 'other_key'
        ? `${name} came sealed to another key than the one that ${login.context.name} keeps`
        : `what ${from.host} gave out sealed cannot be opened (${error.reason})`,
      error,
    );
  }
}
