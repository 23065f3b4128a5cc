import { type StoreAnswer, type StoreBody, storeAnswerSchema, warningsOf } from '@svault/shared/schemas';
import * as z from 'zod';
import type { ActingLogin } from '../contexts/acting-login.ts';
import { failed } from '../failure.ts';
import { SOME_WEBHOOK, endWhereDry } from '../http/dry-run.ts';
import { type OutgoingRequest, send } from '../http/send.ts';
import { safeAddress } from '../http/service-address.ts';
import { understood } from '../http/refusal.ts';
import type { Invocation } from '../invocation.ts';
import { plainLine } from '../output/plain-line.ts';
import { say } from '../output/say.ts';
import { mustBeKnown } from './known-webhook.ts';
import { webhookOf } from './webhook-view.ts';

/** Where a secret goes: straight to the webhook, with a ticket of the control plane, which never sees it (protocol 5.5). */
export const storeAddressSchema = z.looseObject({
  url: z.string(),
  ticket: z.string().regex(/^[\x21-\x7e]{1,4096}$/),
  expiresAt: z.string(),
});
export type StoreAddress = z.infer<typeof storeAddressSchema>;

/** Stands for the answer of the control plane under `--dry-run`. */
export const SOME_STORE: StoreAddress = { url: `${SOME_WEBHOOK}/v1/store`, ticket: '-', expiresAt: '' };

/** Members that may be shown. Whatever else a record has is as good as a secret. */
const SHOWN_MEMBERS = [
  'tokenType',
  'delivery',
  'allowedHosts',
  'allowedHeaders',
  'allowedQuery',
  'requests',
  'approval',
  'allowShortSecret',
  'recipients',
  'expiryTime',
  'publicKey',
  'algorithm',
  'digits',
  'period',
  'shareRefreshToken',
];

/** A store address that the login's secrets may be sent to. */
interface StoreDestination {
  readonly url: URL;
  readonly ticket: string;
}

/**
 * Checks an address that the service named, before a secret or its ticket goes anywhere.
 * @throws Failure for one that is no store of a webhook, or not of the known one; interrupted where a person says no
 */
export async function storeDestination(
  invocation: Invocation,
  login: ActingLogin,
  { url: text, ticket }: StoreAddress,
): Promise<StoreDestination> {
  const url = safeAddress(text);
  const webhookUrl = url === undefined || /[?#]/.test(url.href) ? undefined : webhookOf(url, ENDPOINT);
  if (url === undefined || webhookUrl === undefined)
    throw failed(
      `the control plane says that the webhook is at ${plainLine(text).slice(0, 200)}, which no secret is sent to: https://…${ENDPOINT} only, or http:// on this machine`,
    );
  if (invocation.flags.dryRun !== true) await mustBeKnown(invocation, login, webhookUrl);
  return { url, ticket };
}

/**
 * Sends a secret to the webhook, once: a store whose response is lost may or may not have happened. Under `--dry-run`
 * it is shown, without its secrets, and the command ends.
 * @param record body of `POST /v1/store`
 * @returns the version that the webhook now holds
 * @throws Failure
 */
export async function storeSecret(
  invocation: Invocation,
  { url, ticket }: StoreDestination,
  record: StoreBody,
): Promise<StoreAnswer> {
  const request: OutgoingRequest = {
    method: 'POST',
    url,
    authorization: `Bearer ${ticket}`,
    body: record,
    secretMembers: Object.keys(record).filter((name) => !SHOWN_MEMBERS.includes(name)),
  };
  endWhereDry(invocation, request);
  const answer = understood(await send(invocation, request), url, storeAnswerSchema);
  // A webhook may know more to warn of, and another one nothing.
  const warnings = new Set([...warningsOf(record), ...(answer.warnings ?? [])]);
  for (const warning of warnings) say(invocation, `warning: ${warning}`);
  return answer;
}

/** Protocol 5.5. An address with anything behind it would be another one. */
const ENDPOINT = '/v1/store';
