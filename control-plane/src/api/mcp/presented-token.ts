import type { IncomingMessage } from 'node:http';
import { occursTwice } from '@svault/server-kit/repeated-header';
import { type AgentCredential, agentKeyCredential, sessionCredential } from '../../core/agent.ts';

/** What a request shows of itself (specification, "MCP endpoint": an agent key or a session token, as Bearer). */
export type Presented =
  | { readonly kind: 'credential'; readonly credential: AgentCredential }
  /** Something that is neither, which nobody need look up. */
  | { readonly kind: 'malformed' }
  | { readonly kind: 'missing' };

const MALFORMED: Presented = { kind: 'malformed' };
const MISSING: Presented = { kind: 'missing' };

/** Another scheme is no token of ours, and a token in the query is not looked at: it would stand in logs. */
export function presentedToken({ headers, rawHeaders }: IncomingMessage, audience: string): Presented {
  const { authorization } = headers;
  const bearer = authorization === undefined ? null : BEARER.exec(authorization);
  if (bearer === null) return MISSING;
  // Nobody could tell which of two is meant.
  if (occursTwice(rawHeaders, 'authorization')) return MALFORMED;
  const text = bearer[1] ?? '';
  const credential = agentKeyCredential(text) ?? sessionCredential(text, audience);
  return credential === undefined ? MALFORMED : { kind: 'credential', credential };
}

/** RFC 9110 section 11.1: the scheme's case does not matter. */
const BEARER = /^bearer(?: +(.*))?$/is;
