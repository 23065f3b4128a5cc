import type { StoreAnswer, StoreBody } from '@svault/shared/schemas';
import { type ApiClient, apiClient } from '../../api/api-client.ts';
import { serviceNameFrom, tokenPath } from '../../api/service-name.ts';
import { orElse } from '../../failure.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { plainLine } from '../../output/plain-line.ts';
import { printDone } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { wholeRecord } from './checked-record.ts';
import { type TokenType, tokenTypeOf } from './needed-secret.ts';
import { givenRecord } from './given-record.ts';
import { withKeptRestrictions } from './kept-restrictions.ts';
import {
  SOME_STORE,
  storeAddressSchema,
  storeDestination,
  storeSecret,
} from '../../webhook-direct/store-secret.ts';
import { mustBeSupported } from '../../webhook-direct/supported-record.ts';
import { type SecretOptions, declaredApproval, versionToReplace } from './options.ts';
import { withPreset } from './presets.ts';
import { type Token, readToken, tokenSchema } from './token.ts';
import { storeWarning } from './usability.ts';

interface Options extends SecretOptions {
  readonly type?: TokenType;
  readonly ifVersion?: string;
}

export const setToken: Run<[string], Options> = async (invocation, [service], typed) => {
  const name = serviceNameFrom(service);
  const options = await withPreset(invocation, name, typed);
  const which = versionToReplace(options.ifVersion);
  const client = await apiClient(invocation);
  const said = await givenRecord(invocation, options);
  const token = await (client.dryRun
    ? supposed(invocation, client, name, options.type ?? said.members['tokenType'])
    : readToken(client, name));
  const held = token.webhook;
  const given =
    held === undefined ? said : await withKeptRestrictions(invocation, name, { held, given: said, typed });
  const tokenType = tokenTypeOf(options.type, given.members, held?.tokenType ?? token.tokenType);
  const record = await wholeRecord(invocation, options, { name, tokenType, given });
  const { answer, host } = await replaceSecret(invocation, client, { name, record, which });
  if (tokenType !== token.tokenType)
    say(invocation, `the control plane goes on calling ${name} a ${plainLine(token.tokenType)}`);
  printDone(invocation, {
    said: `${name} is stored at ${host} as version ${answer.version}`,
    answer,
    name,
  });
};

/**
 * Stores the secret of a credential that is registered.
 * @param stored.which version may be replaced, as `versionToReplace` has it
 * @throws Failure, with what is there then
 */
export async function replaceSecret(
  invocation: Invocation,
  client: ApiClient,
  { name, record, which }: { name: string; record: StoreBody; which: ReturnType<typeof versionToReplace> },
): Promise<{ readonly answer: StoreAnswer; readonly host: string }> {
  await mustBeSupported(client, record);
  const address = await client.change({
    method: 'POST',
    path: `${tokenPath(name)}/store-ticket`,
    // Else the first request only learns of it at the webhook.
    body: { ...which, ...declaredApproval(record) },
    schema: storeAddressSchema,
    dryAnswer: SOME_STORE,
  });
  const destination = await storeDestination(invocation, client.login, address);
  const answer = await replaced(invocation, name, storeSecret(invocation, destination, record));
  const warning = storeWarning(name, record);
  if (warning !== undefined) say(invocation, warning);
  return { answer, host: new URL(address.url).host };
}

/** Under `--dry-run` the stored record is unknown: it may have another type, or restrictions that must be given again. */
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

const replaced = <T>(invocation: Invocation, name: string, stored: Promise<T>): Promise<T> =>
  orElse(stored, (error) => {
    const { exit, message, code } = error;
    if (exit === 'interrupted') throw error;
    // After Ctrl-C nothing else is said.
    if (invocation.signal.aborted) say(invocation, whatIsThere(name));
    const advice = code === undefined ? whatIsThere(name) : adviceOn(code, name);
    throw advice === undefined ? error : error.saying(`${message}; ${advice}`);
  });

/** For a response that is lost or not a webhook's: the store may have happened. */
const whatIsThere = (name: string): string => `svault show ${name} shows whether it is stored`;

function adviceOn(code: string, name: string): string | undefined {
  if (code === 'VERSION_CONFLICT') return `nothing is changed; svault show ${name} shows its version`;
  return code === 'TICKET_INVALID' ? 'nothing is changed; try again' : undefined;
}
