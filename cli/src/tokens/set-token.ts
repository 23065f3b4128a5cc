import { type ApiClient, apiClient } from '../api/api-client.ts';
import type { SecretOptions } from '../commands/secret-options.ts';
import { Failure, usage } from '../failure.ts';
import type { Invocation, Run } from '../invocation.ts';
import { plainLine } from '../output/plain-line.ts';
import { printDone } from '../output/print.ts';
import { say } from '../output/say.ts';
import {
  SOME_STORE,
  storeAddressSchema,
  storeDestination,
  storeSecret,
} from '../webhook-direct/store-secret.ts';
import { checkedRecord } from './checked-record.ts';
import { droppedRestrictions } from './dropped-restrictions.ts';
import { versionToReplace } from './if-version.ts';
import { type TokenType, missingSecret } from './main-secret.ts';
import { readToken } from './read-token.ts';
import { givenRecord, withMissingSecret } from './record-from-options.ts';
import { serviceNameFrom, tokenPath } from './service-name.ts';
import { type Token, tokenSchema } from './token.ts';
import { tokenTypeOf } from './token-type.ts';

interface Options extends SecretOptions {
  readonly type?: TokenType;
  readonly ifVersion?: string;
}

export const run: Run<[string], Options> = async (invocation, [service], options) => {
  const name = serviceNameFrom(service);
  const which = versionToReplace(options.ifVersion);
  const client = await apiClient(invocation);
  const given = await givenRecord(invocation, options);
  const token = await (client.dryRun
    ? supposed(invocation, client, name, options.type ?? given.members['tokenType'])
    : readToken(client, name));
  const held = token.webhook;
  const dropped = held === undefined ? [] : droppedRestrictions(held, given);
  if (dropped.length > 0)
    throw usage(`nothing that ${name} was stored with is carried over: ${dropped.join('; ')}`);
  const tokenType = tokenTypeOf(options.type, given.members, held?.tokenType ?? token.tokenType);
  const { members } = given;
  const missing = missingSecret(tokenType, members);
  const whole = await withMissingSecret(invocation, options, { name, members, missing });
  const record = checkedRecord({ ...whole, tokenType });
  const address = await client.change({
    method: 'POST',
    path: `${tokenPath(name)}/store-ticket`,
    body: which,
    schema: storeAddressSchema,
    dryAnswer: SOME_STORE,
  });
  const destination = await storeDestination(invocation, client.login, address);
  const answer = await replaced(invocation, name, () => storeSecret(invocation, destination, record));
  if (tokenType !== token.tokenType)
    say(invocation, `the service goes on calling ${name} a ${plainLine(token.tokenType)}`);
  printDone(invocation, {
    said: `${name} is stored at ${new URL(address.url).host} as version ${answer.version}`,
    answer,
    name,
  });
};

/** Under `--dry-run` nobody is asked what is held: that may have another type, or restrictions that have to be said again. */
function supposed(
  invocation: Invocation,
  client: ApiClient,
  name: string,
  said: unknown,
): Promise<Pick<Token, 'tokenType' | 'webhook'>> {
  const tokenType = typeof said === 'string' ? said : 'PlainText';
  say(
    invocation,
    `what ${name} holds is not asked for: shown as of type ${plainLine(tokenType)}, without restrictions`,
  );
  return client.read<Pick<Token, 'tokenType' | 'webhook'>>(tokenPath(name), tokenSchema, { tokenType });
}

async function replaced<T>(invocation: Invocation, name: string, store: () => Promise<T>): Promise<T> {
  try {
    return await store();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { exit, message, code } = error;
    if (exit === 'interrupted') throw error;
    // After Ctrl-C nothing else is said.
    if (invocation.signal.aborted) say(invocation, whatIsThere(name));
    const advice = code === undefined ? whatIsThere(name) : adviceOn(code, name);
    throw advice === undefined ? error : new Failure(exit, `${message}; ${advice}`, { code, cause: error });
  }
}

/** No answer, or none of a webhook: nobody can tell. */
const whatIsThere = (name: string): string => `whether it is stored, svault show ${name} tells`;

function adviceOn(code: string, name: string): string | undefined {
  if (code === 'VERSION_CONFLICT') return `nothing is changed; svault show ${name} tells its version`;
  return code === 'TICKET_INVALID' ? 'nothing is changed; try again' : undefined;
}
