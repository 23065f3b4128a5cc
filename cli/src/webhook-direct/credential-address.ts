import { z } from 'zod';
import type { ApiClient } from '../api/api-client.ts';
import { Failure } from '../failure.ts';
import { SOME_WEBHOOK } from '../http/dry-run.ts';
import { safeAddress } from '../http/service-address.ts';
import { plainLine } from '../output/plain-line.ts';
import { aboutToken } from '../tokens/about-token.ts';
import { tokenPath } from '../tokens/service-name.ts';

/** A ticket has at most 4096 characters (protocol section 4), and a webhook's address 2048. */
const MAX_CHARACTERS = 8_192;
const SHOWN_CHARACTERS = 100;

/** Stands for the address under `--dry-run`. */
const SOMEWHERE = `${SOME_WEBHOOK}/v1/credential?ticket=-`;

const ticketSchema = z.looseObject({ url: z.string() });

/**
 * Where the webhook gives a credential out, once: as an agent what the service redirects to (specification, "GET
 * /api/agents/credentials"), as an admin what it makes on request. The redirect is not followed here.
 *
 * @param name of the token
 * @throws Failure
 */
export async function credentialAddress(client: ApiClient, name: string): Promise<URL> {
  const { kind, baseUrl } = client.login.context;
  const { host } = new URL(baseUrl);
  const text = kind === 'agent' ? await redirectFor(client, name, host) : await ticketFor(client, name);
  const address = text.length > MAX_CHARACTERS ? undefined : safeAddress(text);
  if (address === undefined || address.hash !== '')
    throw new Failure(
      'failed',
      `${host} points to ${plainLine(text.slice(0, SHOWN_CHARACTERS))}${text.length > SHOWN_CHARACTERS ? '…' : ''}, which is not opened: https:// is, and http:// on this machine`,
    );
  return address;
}

async function redirectFor(client: ApiClient, name: string, host: string): Promise<string> {
  const answer = await client.readRedirect(
    // This client takes JSON, which alone would be answered without a redirect.
    `/api/agents/credentials?service=${encodeURIComponent(name)}&redirect=true`,
    SOMEWHERE,
  );
  const location = answer.headers.get('location');
  // Any other redirect would be one of somebody in between.
  if (answer.status === 307 && location !== undefined) return location;
  throw new Failure(
    'failed',
    `${host} answers ${answer.status} where a svault redirects; is the address right?`,
  );
}

/** No `jkt`: an admin’s login keeps no key that would open what is sealed. */
async function ticketFor(client: ApiClient, name: string): Promise<string> {
  const path = `${tokenPath(name)}/credential-ticket`;
  const change = {
    method: 'POST',
    path,
    body: {},
    schema: ticketSchema,
    dryAnswer: { url: SOMEWHERE },
  } as const;
  return (await aboutToken(name, () => client.change(change))).url;
}
