import type { StoreBody } from '@svault/shared/schemas';
import { z } from 'zod';
import { apiClient } from '../../api/api-client.ts';
import { serviceNameFrom } from '../../api/service-name.ts';
import { Failure, usage } from '../../failure.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { printDone } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { checkedRecord } from './checked-record.ts';
import { type TokenType, missingSecret, tokenTypeOf } from './needed-secret.ts';
import { type GivenRecord, givenRecord, withMissingSecret } from './given-record.ts';
import { mustBeKnownFirst } from '../../webhook-direct/known-webhook.ts';
import {
  SOME_STORE,
  storeAddressSchema,
  storeDestination,
  storeSecret,
} from '../../webhook-direct/store-secret.ts';
import { type DescriptionOptions, type SecretOptions, describedBy } from './options.ts';

interface Options extends SecretOptions, DescriptionOptions {
  readonly type?: TokenType;
  readonly empty?: true;
}

const createdSchema = z.looseObject({ token: z.looseObject({}), store: storeAddressSchema });

export const createToken: Run<[string], Options> = async (invocation, [service], options) => {
  const name = serviceNameFrom(service);
  const client = await apiClient(invocation);
  const given = await givenRecord(invocation, options);
  const tokenType = tokenTypeOf(options.type, given.members, 'PlainText');
  const record =
    options.empty === true
      ? noRecord(options)
      : await recordOf(invocation, options, { name, tokenType, given });
  if (record !== undefined) await mustBeKnownFirst(invocation, client);
  const { token, store } = await named(name, () =>
    client.change({
      method: 'POST',
      path: '/api/tokens',
      body: { serviceName: name, tokenType, ...describedBy(options) },
      schema: createdSchema,
      ...(record !== undefined && { dryAnswer: { token: {}, store: SOME_STORE } }),
    }),
  );
  if (record === undefined)
    return printDone(invocation, {
      said: `${name} is named and has no secret yet: svault set ${name} stores it`,
      answer: { token },
      name,
    });
  const stored = await filled(invocation, name, async () =>
    storeSecret(invocation, await storeDestination(invocation, client.login, store), record),
  );
  printDone(invocation, {
    said: `${name} is stored at ${new URL(store.url).host}`,
    answer: { token, stored },
    name,
  });
};

async function recordOf(
  invocation: Invocation,
  options: Options,
  { name, tokenType, given }: { name: string; tokenType: TokenType; given: GivenRecord },
): Promise<StoreBody> {
  const { members } = given;
  const missing = missingSecret(tokenType, members);
  const whole = await withMissingSecret(invocation, options, { name, members, missing });
  return checkedRecord({ ...whole, tokenType });
}

/** Nothing is stored that it could be said of. */
function noRecord(options: Options): undefined {
  const { fromFile, value, body, field, delivery, allowHost, allowHeader } = options;
  const { allowShortSecret, recipient, expiresAt } = options;
  const source = [fromFile, value, body, field];
  const said = [...source, delivery, allowHost, allowHeader, allowShortSecret, recipient, expiresAt];
  if (said.every((each) => each === undefined)) return undefined;
  throw usage(
    '--empty stores nothing yet: give what belongs to the secret with svault set, and leave it out here',
  );
}

async function named<T>(name: string, create: () => Promise<T>): Promise<T> {
  try {
    return await create();
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'CONFLICT') throw error;
    throw new Failure(
      'failed',
      `there is a token ${name} already: svault set ${name} replaces its secret, and svault tokens edit ${name} how it is described`,
      { code: error.code, cause: error },
    );
  }
}

async function filled<T>(invocation: Invocation, name: string, store: () => Promise<T>): Promise<T> {
  try {
    return await store();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { exit, message, code } = error;
    const named = `${name} is named, and its secret may not be stored`;
    const advice = `svault set ${name} stores it`;
    // After Ctrl-C nothing else is said.
    if (exit === 'interrupted' || invocation.signal.aborted) say(invocation, `${named}; ${advice}`);
    if (exit === 'interrupted') throw error;
    throw new Failure(exit, `${named}: ${message}; ${advice}`, { code, cause: error });
  }
}
