import { type StoreAnswer, storeAnswerSchema } from '@svault/shared/schemas';
import { z } from 'zod';
import type { ApiClient } from '../api/api-client.ts';
import { Failure } from '../failure.ts';
import { DryRunDone, SOME_WEBHOOK, showInstead } from '../http/dry-run.ts';
import type { OutgoingRequest } from '../http/outgoing-request.ts';
import { send } from '../http/send.ts';
import { safeAddress } from '../http/service-address.ts';
import { understood } from '../http/understood.ts';
import type { Invocation } from '../invocation.ts';
import { plainLine } from '../output/plain-line.ts';
import { mustBeKnown } from './known-webhook.ts';

/** Where a secret goes: straight to the webhook, with a ticket of the service, which never sees it (protocol 5.5). */
export const storeAddressSchema = z.looseObject({
  url: z.string(),
  ticket: z.string().regex(/^[\x21-\x7e]{1,4096}$/),
  expiresAt: z.string(),
});
export type StoreAddress = z.infer<typeof storeAddressSchema>;

/** Stands for the answer of the service under `--dry-run`. */
export const SOME_STORE: StoreAddress = { url: `${SOME_WEBHOOK}/v1/store`, ticket: '-', expiresAt: '' };

/** Members that may be shown. Whatever else a record has is as good as a secret. */
const SHOWN_MEMBERS = [
  'tokenType',
  'delivery',
  'allowedHosts',
  'allowedHeaders',
  'recipients',
  'expiryTime',
  'publicKey',
  'algorithm',
  'digits',
  'period',
  'shareRefreshToken',
];

/**
 * Sends a secret to the webhook, once: whether a store whose answer got lost was done, nobody can tell from here. Under
 * `--dry-run` it is shown, without its secrets, and the command ends.
 *
 * @param record body of `POST /v1/store`
 * @returns the version that the webhook now holds
 * @throws Failure
 */
export async function storeSecret(
  invocation: Invocation,
  { login }: Pick<ApiClient, 'login'>,
  address: StoreAddress,
  record: object,
): Promise<StoreAnswer> {
  const url = safeAddress(address.url);
  if (url === undefined || !isStoreEndpoint(url))
    throw new Failure(
      'failed',
      `the service says that the webhook is at ${plainLine(address.url).slice(0, 200)}, which no secret is sent to: https://…${ENDPOINT} only, or http:// on this machine`,
    );
  const request: OutgoingRequest = {
    method: 'POST',
    url,
    authorization: `Bearer ${address.ticket}`,
    body: record,
    secretMembers: Object.keys(record).filter((name) => !SHOWN_MEMBERS.includes(name)),
  };
  if (invocation.flags.dryRun === true) {
    showInstead(invocation, request);
    throw new DryRunDone();
  }
  await mustBeKnown(invocation, login, url.href.slice(0, -ENDPOINT.length));
  return understood(await send(invocation, request), url, storeAnswerSchema);
}

/** Protocol 5.5. An address with anything behind it would be another one. */
const ENDPOINT = '/v1/store';
const isStoreEndpoint = ({ href }: URL): boolean => href.endsWith(ENDPOINT) && !/[?#]/.test(href);
