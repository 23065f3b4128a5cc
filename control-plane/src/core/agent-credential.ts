import { hashKey, isWellFormedKey } from '@svault/shared';

/** What an agent is known by, as it is kept and looked up: never the text itself. */
export type AgentCredential =
  /** An agent's own key, `svagent_…`. */
  | { readonly kind: 'key'; readonly hash: string }
  /** An access token of an OAuth session, `svsess_…`, good at its audience alone (RFC 8707). */
  | { readonly kind: 'session'; readonly hash: string; readonly audience: string };

/** @returns undefined where the text has not the form of an agent's key */
export function agentKeyCredential(text: string): AgentCredential | undefined {
  return isWellFormedKey('svagent', text) ? { kind: 'key', hash: hashKey(text) } : undefined;
}

/**
 * @param audience of the door that the token was shown at
 * @returns undefined where the text has not the form of a session's access token
 */
export function sessionCredential(text: string, audience: string): AgentCredential | undefined {
  return isWellFormedKey('svsess', text) ? { kind: 'session', hash: hashKey(text), audience } : undefined;
}
