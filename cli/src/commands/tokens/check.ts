import type { ApiClient } from '../../api/api-client.ts';
import { Failure, orElse } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { jsonText } from '../../output/json-text.ts';
import { say } from '../../output/say.ts';
import { type Delivery, type Waiting, fetchDelivery } from '../../webhook-direct/fetch-delivery.ts';
import { isSealed, openDelivery } from '../../webhook-direct/open-delivery.ts';
import { readToken } from './token.ts';

/**
 * `get --check` (specification, "CLI exit codes"): says whether there is a value, and never the value. An admin reads
 * what the webhook says of it; an agent has no other way than to fetch it.
 * @throws Failure empty where there is none
 */
export async function checkToken(
  invocation: Invocation,
  client: ApiClient,
  name: string,
  waiting: Waiting,
): Promise<void> {
  const agent = client.login.context.kind === 'agent';
  const empty = agent
    ? await isEmptyToAgent(invocation, client, name, waiting)
    : await isEmptyToAdmin(client, name);
  const { flags, terminal } = invocation;
  if (flags.format === 'json') terminal.out(jsonText({ serviceName: name, empty }));
  if (empty) throw new Failure('empty', `${name} has no value: svault set ${name} stores one`);
  say(invocation, `${name} has a value`);
}

async function isEmptyToAdmin(client: ApiClient, name: string): Promise<boolean> {
  const { webhook } = await readToken(client, name);
  if (webhook === undefined)
    throw new Failure('notFound', `the webhook holds nothing for ${name}: svault set ${name} stores it`);
  return webhook.empty;
}

async function isEmptyToAgent(
  invocation: Invocation,
  client: ApiClient,
  name: string,
  waiting: Waiting,
): Promise<boolean> {
  const delivery = await orElse<Delivery | undefined>(
    fetchDelivery(invocation, client, name, waiting),
    (error) => {
      if (error.code !== 'EMPTY_TOKEN') throw error;
      return undefined;
    },
  );
  if (delivery === undefined || isSealed(delivery)) return delivery === undefined;
  return (await openDelivery(delivery, client.login, name)).accessToken === '';
}
