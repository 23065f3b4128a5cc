import { DEFAULT_ALLOWED_HEADERS } from '@svault/shared/schemas';
import { type ApiClient, apiClient } from '../../api/api-client.ts';
import { serviceNameFrom, tokenPath } from '../../api/service-name.ts';
import { orElse, usage } from '../../failure.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { listed, plainLine } from '../../output/plain-line.ts';
import { printDone } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { wholeRecord } from './checked-record.ts';
import { type TokenType, tokenTypeOf } from './needed-secret.ts';
import { type GivenRecord, givenRecord } from './given-record.ts';
import {
  SOME_STORE,
  storeAddressSchema,
  storeDestination,
  storeSecret,
} from '../../webhook-direct/store-secret.ts';
import { type SecretOptions, versionToReplace } from './options.ts';
import { withPreset } from './presets.ts';
import { type HeldRecord, type Token, readToken, tokenSchema } from './token.ts';

interface Options extends SecretOptions {
  readonly type?: TokenType;
  readonly ifVersion?: string;
}

export const setToken: Run<[string], Options> = async (invocation, [service], typed) => {
  const name = serviceNameFrom(service);
  const options = await withPreset(invocation, name, typed);
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
  const record = await wholeRecord(invocation, options, { name, tokenType, given });
  const address = await client.change({
    method: 'POST',
    path: `${tokenPath(name)}/store-ticket`,
    body: which,
    schema: storeAddressSchema,
    dryAnswer: SOME_STORE,
  });
  const destination = await storeDestination(invocation, client.login, address);
  const answer = await replaced(invocation, name, storeSecret(invocation, destination, record));
  if (tokenType !== token.tokenType)
    say(invocation, `the control plane goes on calling ${name} a ${plainLine(token.tokenType)}`);
  printDone(invocation, {
    said: `${name} is stored at ${new URL(address.url).host} as version ${answer.version}`,
    answer,
    name,
  });
};

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
const whatIsThere = (name: string): string => `whether it is stored, svault show ${name} tells`;

function adviceOn(code: string, name: string): string | undefined {
  if (code === 'VERSION_CONFLICT') return `nothing is changed; svault show ${name} tells its version`;
  return code === 'TICKET_INVALID' ? 'nothing is changed; try again' : undefined;
}

/**
 * What a record would lose by being replaced, where the command line says nothing of it. The webhook carries nothing over
 * (protocol 5.5), and neither does this client: the control plane says how it was, and could have it say something else.
 *
 * @returns a clause for each, with the flags that keep it or let it go
 */
function droppedRestrictions(held: HeldRecord, given: GivenRecord): string[] {
  const { delivery, allowedHosts, allowedHeaders, provider } = given.members;
  const dropped: string[] = [];
  if (held.delivery !== 'any' && delivery === undefined)
    dropped.push(
      `it is delivered ${plainLine(held.delivery)}: give ${held.delivery === 'sealed' ? '--recipient' : '--delivery'} again, or --delivery any`,
    );
  if (held.allowedHosts.length > 0 && allowedHosts === undefined)
    dropped.push(
      `proxies may send it to ${listed(held.allowedHosts)}: give --allow-host again, or --allow-host none`,
    );
  const headersMatter = Array.isArray(allowedHosts) && allowedHosts.length > 0;
  if (headersMatter && allowedHeaders === undefined && !areDefault(held.allowedHeaders))
    dropped.push(
      `proxies may put it in ${held.allowedHeaders.length === 0 ? 'no header' : listed(held.allowedHeaders)}: give --allow-header again`,
    );
  if (held.provider !== undefined && provider === undefined && !given.withoutProvider)
    dropped.push(
      `it is refreshed at ${plainLine(held.provider.tokenUrl)} as ${plainLine(held.provider.clientId)}: give --field provider.… or --body again, or --field provider=none`,
    );
  return dropped;
}

const areDefault = (headers: readonly string[]): boolean =>
  headers
    .map((header) => header.toLowerCase())
    .sort()
    .join() === DEFAULT_ALLOWED_HEADERS.toSorted().join();
