import * as z from 'zod';
import { ENVIRONMENT_NAME } from '../contexts/context-name.ts';
import { type Failure, orElse } from '../failure.ts';
import { type IncomingAnswer, isStoppedHere, send } from '../http/send.ts';
import type { Invocation } from '../invocation.ts';
import { jsonIn } from '../json-in.ts';

/** A probe is one more wait after a failure, so it is a short one. */
const PROBE_MS = 3_000;

const healthSchema = z.object({ status: z.literal('ok') });
const metadataSchema = z.looseObject({ issuer: z.string(), token_endpoint: z.string() });

/** The control plane that a call was for. */
export interface Addressed {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** Name of the login that has this address; undefined while one is made. */
  readonly login?: string | undefined;
}

/**
 * Asks an address what it is, without a key, after a response that is none of a control plane or that says that a route does
 * not exist: people confuse the addresses of the two programs, and copy more of one than belongs to it.
 * @returns the failure, which names the address and the next command where the address is wrong
 */
export async function explainAddress(
  invocation: Invocation,
  addressed: Addressed,
  failure: Failure,
): Promise<Failure> {
  const { baseUrl } = addressed;
  if (isStoppedHere(failure, new URL(baseUrl)))
    return failure.saying(
      `${failure.message}. Is the control plane running? \`npm start\` starts it${placeOf(addressed)}`,
    );
  // Where nothing listens, nothing can be asked.
  const found = failure.exit === 'unavailable' ? undefined : await partyAt(invocation, baseUrl);
  const correction = correctionOf(addressed);
  if (found === 'webhook')
    return failure.saying(`${baseUrl} is a webhook, not a control plane; ${correction}`, 'failed');
  if (found !== undefined && found !== baseUrl)
    return failure.saying(
      `the control plane is at ${found}, and ${baseUrl} has more behind it; ${correctionOf(addressed, found)}`,
      'failed',
    );
  return failure.isOfAddress ? failure.saying(`${failure.message}; ${correction}`) : failure;
}

function correctionOf({ baseUrl, login }: Addressed, found?: string): string {
  if (login === undefined)
    return `give the address of the control plane: svault login --base-url ${found ?? 'URL'}`;
  if (login === ENVIRONMENT_NAME)
    return `set SVAULT_BASE_URL to ${found ?? 'the address of the control plane'}`;
  return `the login ${login} is for ${baseUrl}: svault context list shows all, svault login --base-url URL signs in elsewhere`;
}

/** Where a wrong address would be set. */
function placeOf({ login }: Addressed): string {
  if (login === undefined) return '';
  return login === ENVIRONMENT_NAME
    ? '; SVAULT_BASE_URL has the address'
    : `; the login ${login} has the address`;
}

/** @returns `webhook`; the address of the control plane that answers there or at the root; undefined for anything else */
async function partyAt(invocation: Invocation, baseUrl: string): Promise<string | undefined> {
  // PROTOCOL.md section 5.2: what every webhook answers to everybody.
  if (healthSchema.safeParse(await probed(invocation, `${baseUrl}/v1/health`)).success) return 'webhook';
  for (const base of new Set([baseUrl, new URL(baseUrl).origin])) {
    // RFC 8414 section 3.
    const metadata = await probed(invocation, `${base}/.well-known/oauth-authorization-server`);
    if (metadataSchema.safeParse(metadata).success) return base;
  }
  return undefined;
}

/** The JSON that an address gives to everybody; undefined for any other response and for none. */
async function probed({ terminal, flags, signal }: Invocation, url: string): Promise<unknown> {
  const limited = { terminal, flags, signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]) };
  const probe = send(limited, { method: 'GET', url: new URL(url) });
  const answer = await orElse<IncomingAnswer | undefined>(probe, () => undefined);
  return answer?.status === 200 ? jsonIn(answer.text) : undefined;
}
