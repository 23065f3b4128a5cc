import type { Schemas } from '../api/client.ts';
import { RULE_NAMES, type RuleType } from '../policies/rule-words.ts';

export type AuditEvent = Schemas['AuditEvent'];
export type EventType = AuditEvent['eventType'];

/** What was done, as it stands between who did it and what it was done to; and the word before the agent or proxy. */
type Phrase = readonly [done: string, before?: string];

const PHRASES: Readonly<Record<EventType, Phrase>> = {
  AGENT_CREDENTIAL_ACCESS: ['asked for'],
  PROXY_CREDENTIAL_USE: ['used'],
  OWNER_CREDENTIAL_ACCESS: ['asked to see'],
  AGENT_CREATED: ['created the agent'],
  AGENT_UPDATED: ['changed the agent'],
  AGENT_SUSPENDED: ['suspended the agent'],
  AGENT_RESUMED: ['resumed the agent'],
  AGENT_DELETED: ['deleted the agent'],
  KEY_REVEALED: ['revealed the key of'],
  KEY_ROTATED: ['rotated the key of'],
  KEY_REVOKED: ['revoked the key of'],
  GRANT_CREATED: ['granted', 'to'],
  GRANT_RENEWED: ['renewed the grant of', 'to'],
  GRANT_REVOKED: ['revoked the grant of', 'to'],
  GRANT_EXPIRED: ['removed the expired grant of', 'to'],
  TOKEN_CREATED: ['added the credential'],
  TOKEN_UPDATED: ['changed the credential'],
  TOKEN_DELETED: ['deleted the credential'],
  TOKEN_STORE_TICKET: ['asked to store a secret in'],
  TOKEN_REFRESHED: ['refreshed'],
  POLICY_CREATED: ['created the policy'],
  POLICY_UPDATED: ['changed the policy'],
  POLICY_DELETED: ['deleted the policy'],
  POLICY_ATTACHED: ['attached the policy', 'to'],
  POLICY_DETACHED: ['detached the policy', 'from'],
  APPROVAL_REQUESTED: ['asked for an approval to use'],
  APPROVAL_APPROVED: ['approved', 'for'],
  APPROVAL_DENIED: ['denied', 'to'],
  PROXY_CREATED: ['created the proxy', 'for'],
  PROXY_UPDATED: ['changed the proxy', 'for'],
  PROXY_DELETED: ['deleted the proxy', 'for'],
  FOLDER_CREATED: ['created the folder'],
  FOLDER_UPDATED: ['changed the folder'],
  FOLDER_DELETED: ['deleted the folder'],
  MEMBER_CREATED: ['added the member'],
  MEMBER_UPDATED: ['changed the member'],
  MEMBER_DELETED: ['removed the member'],
  PROVIDER_CREATED: ['created the OAuth provider'],
  PROVIDER_UPDATED: ['changed the OAuth provider'],
  PROVIDER_DELETED: ['deleted the OAuth provider'],
  NOTIFICATION_CREATED: ['created the notification channel'],
  NOTIFICATION_DELETED: ['deleted the notification channel'],
  ADMIN_KEY_CREATED: ['created the admin key'],
  ADMIN_KEY_UPDATED: ['replaced the admin key'],
  ADMIN_KEY_DELETED: ['revoked the admin key'],
  VAULT_LOCKED: ['locked the vault'],
  VAULT_UNLOCKED: ['unlocked the vault'],
  WEBHOOK_BOUND: ['bound the webhook'],
  WEBHOOK_UNBOUND: ['unbound the webhook'],
  WEBHOOK_SECRET_ROTATED: ['rotated the binding secret of the webhook'],
  WEBHOOK_LOG_CONTRADICTION: ['found that the log of the webhook contradicts itself'],
  CHECKPOINT_REFUSED: ['was refused a checkpoint of the log by the webhook'],
  LOGIN: ['signed in'],
  SESSION_REVOKED: ['ended a session'],
  OAUTH_SESSION_CREATED: ['opened an MCP session of'],
  OAUTH_SESSION_REVOKED: ['ended an MCP session of'],
  ACCOUNT_EXPORTED: ['exported the account'],
  ACCOUNT_UPDATED: ['changed a setting of the account'],
};

/** Each type of event with its name in lists, in alphabetical order. */
export const EVENT_NAMES = (Object.keys(PHRASES) as EventType[])
  .map((type) => [type, nameOf(type)] as const)
  .sort(([, one], [, other]) => one.localeCompare(other));

/** The name of a type of event: `AGENT_CREATED` is "Agent created". */
export function nameOf(type: EventType): string {
  const words = type.replace('TOKEN_', 'CREDENTIAL_').toLowerCase().replaceAll('_', ' ');
  return (words.charAt(0).toUpperCase() + words.slice(1)).replace('Oauth', 'OAuth');
}

/** An event as a sentence: who, what, and to what. Names are as agents and people gave them. */
export interface Sentence {
  /** What `who` is, where its name alone would not tell. */
  readonly kind: 'Proxy' | '';
  readonly who: string;
  readonly done: string;
  /** The credential, or the name of another thing. */
  readonly what: string | undefined;
  readonly before: string;
  /** The agent, the proxy or the credential that it was done to, where it is not who did it. */
  readonly whom: string | undefined;
}

export function sentenceOf(event: AuditEvent): Sentence {
  const { eventType, agentName, agentId, proxyName, proxyId, serviceName = 'a credential' } = event;
  const isAsking = eventType === 'APPROVAL_REQUESTED';
  if (!isRequest(event) && !isAsking) {
    const who = whoChanged(event) ?? (isOfApproval(event) ? 'An approver' : 'svault');
    return { kind: '', who, ...changeOf(event) };
  }
  const isProxy = eventType === 'PROXY_CREDENTIAL_USE' || (isAsking && proxyId !== undefined);
  return {
    kind: isProxy ? 'Proxy' : '',
    who: (isProxy ? (proxyName ?? proxyId) : (agentName ?? agentId)) ?? 'svault',
    done: PHRASES[eventType][0],
    what: serviceName,
    before: '',
    whom: undefined,
  };
}

function changeOf(event: AuditEvent): Pick<Sentence, 'done' | 'what' | 'before' | 'whom'> {
  const { eventType, agentName, agentId, proxyName, proxyId, serviceName } = event;
  const [phrase, before = 'of'] = PHRASES[eventType];
  const done = eventType === 'LOGIN' && event.outcome !== 'success' ? 'could not sign in' : phrase;
  const agent = agentName ?? agentId;
  const named = namedIn(event);
  const isOfProxy = proxyId !== undefined && (agent === undefined || isReadByAgent(event));
  const proxy = proxyName ?? (eventType.startsWith('PROXY_') ? named : undefined) ?? proxyId;
  if (eventType === 'POLICY_ATTACHED' || eventType === 'POLICY_DETACHED') {
    const kind = isOfProxy ? 'proxy' : agent === undefined ? 'credential' : 'agent';
    return {
      done: named === undefined ? done.replace('the policy', 'a policy') : done,
      what: named,
      before: `${before} the ${kind}`,
      whom: agent ?? proxy ?? serviceName,
    };
  }
  if (isOfApproval(event)) return { done, what: serviceName, before, whom: agent ?? proxy };
  if (isOfProxy && eventType.startsWith('PROXY_')) return { done, what: proxy, before, whom: serviceName };
  if (isOfProxy) return { done: `${done} the proxy`, what: proxy, before: '', whom: undefined };
  const what = serviceName ?? (agent === undefined ? named : undefined);
  return { done, what, before: what === undefined ? '' : before, whom: agent };
}

/** The same as plain text. */
export function sentenceText(event: AuditEvent): string {
  const { kind, who, done, what, before, whom } = sentenceOf(event);
  return [kind, who, done, what, whom && before, whom].filter(Boolean).join(' ');
}

const whoChanged = (event: AuditEvent): string | undefined =>
  isReadByAgent(event) ? (event.agentName ?? event.agentId) : personOf(event);

/** Whether an agent read the key of its proxy. */
const isReadByAgent = ({ eventType, agentId, proxyId }: AuditEvent): boolean =>
  eventType === 'KEY_REVEALED' && agentId !== undefined && proxyId !== undefined;

const personOf = ({ userEmail, adminKeyName, userId }: AuditEvent): string | undefined =>
  adminKeyName === undefined ? (userEmail ?? userId) : `admin key ${adminKeyName}`;

/** What the detail of an event names, where the event is about neither a credential nor an agent. */
function namedIn({ detail = {} }: AuditEvent): string | undefined {
  const name = detail['name'] ?? detail['memberId'] ?? detail['adminKeyId'];
  return typeof name === 'string' ? name : undefined;
}

/** Decided by a member, or with a passkey at the webhook. */
const isOfApproval = ({ eventType }: Pick<AuditEvent, 'eventType'>): boolean =>
  eventType.startsWith('APPROVAL_');

/** Whether an event reports a request for a credential. */
const isRequest = ({ eventType }: Pick<AuditEvent, 'eventType'>): boolean =>
  eventType === 'AGENT_CREDENTIAL_ACCESS' || eventType === 'PROXY_CREDENTIAL_USE';

const OUTCOMES: Readonly<Record<AuditEvent['outcome'], string>> = {
  success: 'Done',
  denied: 'Denied',
  rate_limited: 'Rate limited',
  error: 'Failed',
};

/** The outcomes of events with their names. */
export const OUTCOME_NAMES = [
  ['success', 'Allowed or done'],
  ['denied', 'Denied'],
  ['rate_limited', 'Rate limited'],
  ['error', 'Failed'],
] as const satisfies readonly (readonly [AuditEvent['outcome'], string])[];

/** What an event came to, in words, and why where it was denied or failed. */
export function outcomeOf(event: AuditEvent): { readonly text: string; readonly why: string | undefined } {
  const { outcome, detail = {} } = event;
  const text = outcome === 'success' && isRequest(event) ? 'Allowed' : OUTCOMES[outcome];
  if (outcome === 'success') return { text, why: undefined };
  const { policy, rule, code, reason } = detail;
  if (policy !== undefined) return { text, why: `policy ${String(policy)}, rule ${ruleName(rule)}` };
  const known = code === 'RATE_LIMITED' ? undefined : (code ?? reason);
  return { text, why: known === undefined ? undefined : wordsOf(String(known)) };
}

/** The name of a type of rule, as policies have it, within a sentence. */
export const ruleName = (rule: unknown): string =>
  Object.hasOwn(RULE_NAMES, String(rule)) ? RULE_NAMES[rule as RuleType].toLowerCase() : String(rule);

/** A code as words: `NO_GRANT` is "no grant". */
const wordsOf = (code: string): string =>
  code
    .toLowerCase()
    .replaceAll('_', ' ')
    .replace(/\bmcp\b/, 'MCP');
