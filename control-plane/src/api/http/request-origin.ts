import type { IncomingMessage } from 'node:http';
import { requestIdOf } from '@svault/server-kit/request-id';
import { scrub } from '@svault/server-kit/scrub';
import type { RequestOrigin } from '../../access/decision.ts';
import type { Channel } from '../../core/origin.ts';
import type { ClientAddress } from './client-address.ts';

/** @param authenticatedBy nothing secret: an id, or the first characters of a key */
export type OriginReader = (
  req: IncomingMessage,
  channel: Channel,
  authenticatedBy?: string,
) => RequestOrigin;

export const createOriginReader =
  (clientAddress: ClientAddress): OriginReader =>
  (req, channel, authenticatedBy) => ({
    requestId: requestIdOf(req),
    channel,
    address: clientAddress(req),
    authenticatedBy,
    userAgent: userAgentOf(req),
  });

const MAX_USER_AGENT_CHARACTERS = 160;
/** A client with one of them repeats it in each request. */
const MAX_KNOWN = 500;
const MAX_KNOWN_CHARACTERS = 256;
const known = new Map<string, string>();

/** Cut, and without characters that could forge lines of a terminal or a log, and without a key that was put there. */
function userAgentOf({ headers }: IncomingMessage): string | undefined {
  const sent = headers['user-agent'];
  if (sent === undefined) return undefined;
  let shown = known.get(sent);
  if (shown === undefined) {
    shown = cleaned(sent);
    if (known.size >= MAX_KNOWN) known.clear();
    if (sent.length <= MAX_KNOWN_CHARACTERS) known.set(sent, shown);
  }
  return shown === '' ? undefined : shown;
}

/** Scrubbed before it is cut: half a key would no longer look like one. */
const cleaned = (text: string): string =>
  scrub(text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ''))
    .slice(0, MAX_USER_AGENT_CHARACTERS)
    .trim();
