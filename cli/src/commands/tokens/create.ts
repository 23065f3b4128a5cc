import { shellWord } from '@svault/shared';
import type { StoreAnswer, StoreBody } from '@svault/shared/schemas';
import * as z from 'zod';
import { type ApiClient, apiClient } from '../../api/api-client.ts';
import { serviceNameFrom } from '../../api/service-name.ts';
import { orElse, usage } from '../../failure.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { printDone } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { wholeRecord } from './checked-record.ts';
import { type TokenType, tokenTypeOf } from './needed-secret.ts';
import { givenRecord } from './given-record.ts';
import { mustBeKnownFirst } from '../../webhook-direct/known-webhook.ts';
import {
  SOME_STORE,
  storeAddressSchema,
  storeDestination,
  storeSecret,
} from '../../webhook-direct/store-secret.ts';
import { mustBeSupported } from '../../webhook-direct/supported-record.ts';
import { type DescriptionOptions, type SecretOptions, declaredApproval, describedBy } from './options.ts';
import { withPreset } from './presets.ts';
import { storeWarning } from './usability.ts';

interface Options extends SecretOptions, DescriptionOptions {
  readonly type?: TokenType;
  readonly empty?: true;
}

const createdSchema = z.looseObject({ token: z.looseObject({}), store: storeAddressSchema });

export const createToken: Run<[string], Options> = async (invocation, [service], typed) => {
  const name = serviceNameFrom(service);
  const options = await withPreset(invocation, name, typed);
  const client = await apiClient(invocation);
  const given = await givenRecord(invocation, options);
  const tokenType = tokenTypeOf(options.type, given.members, 'PlainText');
  const record =
    options.empty === true
      ? noRecord(options)
      : await wholeRecord(invocation, options, { name, tokenType, given });
  const described = describedBy(options);
  if (record === undefined) {
    const { token } = await register(client, name, { tokenType, ...described });
    return printDone(invocation, {
      said: `${name} is created without a secret: svault set ${name} stores it`,
      answer: { token },
      name,
    });
  }
  const { token, stored, said } = await createWithSecret(invocation, client, { name, record, described });
  printDone(invocation, { said, answer: { token, stored }, name });
};

/**
 * Registers a credential at the control plane and stores its secret at the webhook.
 * @param created.described what people read of it, as `POST /api/tokens` takes it
 * @returns what both answered, and that in a line
 * @throws Failure, which says so where only the first of the two was done
 */
export async function createWithSecret(
  invocation: Invocation,
  client: ApiClient,
  { name, record, described }: { name: string; record: StoreBody; described: object },
): Promise<{ readonly token: object; readonly stored: StoreAnswer; readonly said: string }> {
  await mustBeKnownFirst(invocation, client);
  await mustBeSupported(client, record);
  const { tokenType } = record;
  const dryAnswer = { token: {}, store: SOME_STORE };
  const members = { tokenType, ...declaredApproval(record), ...described };
  const { token, store } = await register(client, name, members, dryAnswer);
  const storing = storeDestination(invocation, client.login, store).then((destination) =>
    storeSecret(invocation, destination, record),
  );
  const stored = await filled(invocation, name, storing);
  const warning = storeWarning(name, record);
  if (warning !== undefined) say(invocation, warning);
  return { token, stored, said: `${name} is stored at ${new URL(store.url).host}` };
}

const register = (
  client: ApiClient,
  name: string,
  members: object,
  dryAnswer?: z.infer<typeof createdSchema>,
): Promise<z.infer<typeof createdSchema>> =>
  named(
    name,
    client.change({
      method: 'POST',
      path: '/api/tokens',
      body: { serviceName: name, ...members },
      schema: createdSchema,
      ...(dryAnswer !== undefined && { dryAnswer }),
    }),
  );

/** Nothing is stored that it could be said of. */
function noRecord(options: Options): undefined {
  const { fromFile, value, body, field, presetMembers, delivery, allowHost, allowHeader } = options;
  const { allowQuery, allowRequest, allowShortSecret, recipient, expiresAt } = options;
  const { requireApproval, standing } = options;
  const source = [fromFile, value, body, field, presetMembers];
  const proxied = [allowHost, allowHeader, allowQuery, allowRequest, allowShortSecret];
  const said = [...source, ...proxied, delivery, requireApproval, standing, recipient, expiresAt];
  if (said.every((each) => each === undefined)) return undefined;
  throw usage(
    '--empty stores nothing yet: give what belongs to the secret with svault set, and leave it out here',
  );
}

const named = <T>(name: string, created: Promise<T>): Promise<T> =>
  orElse(created, (error) => {
    if (error.code !== 'CONFLICT') throw error;
    throw error.saying(
      `there is a credential ${name} already: svault set ${name} replaces its secret, svault tokens edit ${name} changes its description`,
      'failed',
    );
  });

/** Codes of a webhook that may have stored and then failed. */
const UNDECIDED: readonly string[] = ['INTERNAL', 'UNAVAILABLE'];

const filled = <T>(invocation: Invocation, name: string, stored: Promise<T>): Promise<T> =>
  orElse(stored, (error) => {
    const { code } = error;
    const isRefused = code !== undefined && !UNDECIDED.includes(code);
    const half = `${name} is created, but its secret ${isRefused ? 'was not stored' : 'may not be stored'}`;
    const advice = isRefused
      ? `mend that and store it with svault set ${shellWord(name)}, or remove the name with svault rm ${shellWord(name)}`
      : `svault set ${shellWord(name)} stores it`;
    const isInterrupted = error.exit === 'interrupted';
    // After Ctrl-C nothing else is said.
    if (isInterrupted || invocation.signal.aborted) say(invocation, `${half}; ${advice}`);
    throw isInterrupted ? error : error.saying(`${half}: ${error.message}; ${advice}`);
  });
