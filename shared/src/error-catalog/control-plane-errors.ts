import type { ErrorDescription } from './error-description.ts';

/**
 * Every code that the control plane sends. Closed. `SIGN_IN_…`, `NO_ACCOUNT` and `PROVIDER_UNAVAILABLE` are of the sign-in at
 * an identity provider; `SESSION_NOT_FOUND` and `UPSTREAM_…` of the MCP proxy.
 */
export const CONTROL_PLANE_ERRORS = {
  AGENT_INACTIVE: {
    statuses: [403],
    message:
      'This agent is suspended or deleted. An admin resumes a suspended one with svault agents resume AGENT.',
    meaning: 'The agent is suspended or deleted, so nothing that it asks is answered.',
    remedy: 'An admin resumes a suspended one: svault agents resume NAME. A deleted one stays deleted.',
  },
  APPROVAL_REQUIRED: {
    statuses: [403],
    mcpTool: true,
    meaning:
      'The credential was stored with an approval: a person has to decide on this very use, with a passkey.',
    remedy:
      'A person opens the address in approval.url and decides there; then ask again, the same thing, or ask with wait.',
  },
  AUDIT_UNAVAILABLE: {
    statuses: [503],
    meaning: 'The access could not be recorded, and nothing is given out without a record.',
    remedy: 'Ask again after the seconds in Retry-After; if it stays, look at the control plane’s database.',
  },
  CONFLICT: {
    statuses: [409],
    meaning:
      'It cannot be done to what is there now: it exists already, is deleted, or was changed meanwhile.',
    remedy: 'Read the message, look at what is there, then decide again.',
  },
  FORBIDDEN: {
    statuses: [403],
    meaning: 'You are signed in, and your role, or the page that you came from, does not allow this.',
    remedy: 'Use an admin’s login (svault login, or --context); svault whoami says who acts.',
  },
  GRANT_EXPIRED: {
    statuses: [403],
    message:
      'The grant for this service has expired. The owner of the agent makes a new one with svault grant AGENT SERVICE.',
    mcpTool: true,
    meaning:
      'The agent had a grant for this service, and it has expired. It is deleted now: the next request is answered NO_GRANT.',
    remedy: 'The owner makes a new one: svault grant AGENT SERVICE.',
  },
  INTERNAL: {
    statuses: [500],
    meaning: 'The control plane failed in a way that it does not explain.',
    remedy: 'Look for the request id in its log.',
  },
  INVALID_ARGUMENT: {
    statuses: [422],
    mcpTool: true,
    meaning: 'Something in the request does not fit: a member is missing, unknown, or out of its bounds.',
    remedy: 'The message names each one. An MCP tool says it where service is missing or no service’s name.',
  },
  INVALID_KEY: {
    // 401 at the MCP endpoint, whose clients sign in after it.
    statuses: [403, 401],
    message:
      'This agent key (svagent_…) is malformed or has been revoked. Ask the owner of the agent for its current one.',
    meaning: 'The key is malformed, unknown or revoked.',
    remedy:
      'Use the current key. An agent’s: svault agents reveal-key NAME. A proxy’s (mcp_…): svault proxies reveal-key NAME; a revoked proxy is replaced by a new one: svault proxies create. This client’s: svault login --key -.',
  },
  INVALID_REQUEST: {
    statuses: [400],
    meaning:
      'The body is no JSON object, the request is cut off, or a parameter of an agent’s request is unknown or does not fit.',
    remedy:
      'Read the message; a body is one JSON object in UTF-8. From this client: report it, together with what --debug shows.',
  },
  INVALID_SERVICE: {
    statuses: [400],
    message: 'The service name is not valid: 1 to 128 characters, no "/", given once.',
    meaning:
      'What stands for the control plane is no name: empty, given twice, longer than 128 characters, or with a “/”.',
    remedy: 'Check the spelling; svault ls lists the credentials.',
  },
  MCP_DISABLED: {
    statuses: [403],
    message: 'MCP is off for this agent. Its owner switches it on with svault agents edit AGENT --mcp.',
    meaning: 'The agent may not use the MCP endpoint.',
    remedy: 'Let it: svault agents edit NAME --mcp.',
  },
  METHOD_NOT_ALLOWED: {
    statuses: [405],
    meaning: 'The address does not have that method.',
    remedy: 'The Allow header names those it has.',
  },
  MISSING_KEY: {
    statuses: [401],
    message: 'Send the agent key as Authorization: Bearer svagent_… or in x-agent-key.',
    meaning: 'The request carries no key; one in the query does not count.',
    remedy: 'Send it as Authorization: Bearer …, or sign in: svault login --key -.',
  },
  NO_ACCOUNT: {
    statuses: [403],
    meaning: 'The person who signed in at the identity provider has no account here.',
    remedy: 'An admin invites that e-mail address under Members.',
  },
  NO_GRANT: {
    statuses: [404],
    message:
      'This agent has no active grant for this service. GET /api/agents/credentials lists those it has; its owner adds one with svault grant AGENT SERVICE.',
    mcpTool: true,
    meaning:
      'The agent has no grant for this service, or there is no such service; which of the two is not said.',
    remedy:
      'svault ls or GET /api/agents/credentials lists what it is granted; the owner adds a grant: svault grant AGENT SERVICE. A grant that has expired is deleted at the first request after that, which is answered GRANT_EXPIRED.',
  },
  NOT_FOUND: {
    statuses: [404],
    meaning: 'There is nothing by that name or id that you may see.',
    remedy: 'Check the spelling, and which service and account you act in: svault whoami.',
  },
  POLICY_DENIED: {
    statuses: [403, 429],
    mcpTool: true,
    meaning:
      'A policy of the agent, the token or the proxy does not allow it: time, place, address, number of uses or what is asked.',
    remedy:
      'The message names policy and rule. With 429, a rate_limit rule lets it through after Retry-After.',
  },
  PROVIDER_UNAVAILABLE: {
    statuses: [503],
    meaning: 'The identity provider at which people sign in does not answer, or states another issuer.',
    remedy:
      'Try again later; logins that are kept go on until they end. Where the message names two issuers, an operator sets SV_OIDC_ISSUER.',
  },
  QUOTA_EXCEEDED: {
    statuses: [409],
    meaning:
      'The account has as many things of this kind as it may have; the message says how many and which setting.',
    remedy: 'Delete what is not needed, or have the operator of the control plane raise that setting.',
  },
  RATE_LIMITED: {
    statuses: [429],
    mcpTool: true,
    meaning: 'Too many requests; after a limit was passed several times, every further one counts longer.',
    remedy: 'Wait for the seconds in Retry-After. This client does so by itself where it only reads.',
  },
  SESSION_NOT_FOUND: {
    statuses: [404],
    message: 'There is no session of this id. Send initialize without Mcp-Session-Id to begin one.',
    meaning:
      'The Mcp-Session-Id belongs to no session that this proxy began with its present upstream; another proxy cannot use it.',
    remedy: 'Send initialize without Mcp-Session-Id; MCP clients do so by themselves after a 404.',
  },
  SIGN_IN_DENIED: {
    statuses: [403],
    meaning: 'The identity provider, or the person signing in, refused.',
    remedy: 'Sign in again, or ask the administrator of the identity provider.',
  },
  SIGN_IN_EXPIRED: {
    statuses: [400],
    meaning: 'The sign-in took too long, or was begun in another browser.',
    remedy: 'Begin it again.',
  },
  SIGN_IN_FAILED: {
    statuses: [400],
    meaning: 'The identity provider’s answer does not hold.',
    remedy:
      'Begin again; if it stays, compare the provider’s settings and clocks with those of the control plane.',
  },
  TOO_LARGE: {
    statuses: [413],
    meaning: 'The body is larger than the control plane takes.',
    remedy: 'Send less at once. Secrets go to the webhook, which takes more.',
  },
  UNAUTHENTICATED: {
    statuses: [401],
    meaning: 'Nobody is signed in: the session has ended, or the key is unknown or revoked.',
    remedy: 'Sign in again: svault login.',
  },
  UNAVAILABLE: {
    statuses: [503],
    meaning:
      'The control plane cannot do it at this moment: its database does not answer, or something changed meanwhile.',
    remedy: 'Try again in a few seconds.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    statuses: [415],
    meaning: 'The body does not say that it is JSON.',
    remedy: 'Send it with Content-Type: application/json.',
  },
  UPSTREAM_REDIRECT: {
    statuses: [502],
    meaning:
      'The upstream of a proxy redirects to another address, and the proxy does not lead a client there with its proxy key.',
    remedy:
      'The message names the origin. The owner of the proxy sets upstreamUrl to the address that the upstream redirects to.',
  },
  UPSTREAM_UNAUTHORIZED: {
    statuses: [502],
    meaning:
      'The upstream of a proxy answered 401 to the credential that was put in. The proxy key itself is in order.',
    remedy: 'The message names the credential. Its owner stores one that works: svault set NAME.',
  },
  UPSTREAM_UNSUPPORTED: {
    statuses: [502],
    meaning:
      'The upstream of a proxy speaks the HTTP+SSE transport of MCP revision 2024-11-05, which the proxy does not carry.',
    remedy:
      'Set the upstreamUrl of the proxy to the Streamable HTTP address of the server, often /mcp, or update the server.',
  },
  VAULT_LOCKED: {
    statuses: [423],
    message: 'The vault is locked. An admin of the account unlocks it with svault vault unlock.',
    mcpTool: true,
    meaning: 'The vault is locked: nothing is given out, and nothing can be changed.',
    remedy: 'An admin unlocks it: svault vault unlock.',
  },
  WEBHOOK_NOT_CONFIGURED: {
    statuses: [502],
    message: 'No webhook is bound to this vault. An admin of the account binds one with svault webhook bind.',
    mcpTool: true,
    meaning: 'No webhook is bound to this vault, so there is nobody who has the credentials.',
    remedy:
      'Make one with svault webhook init, start it with svault webhook up, bind it with svault webhook bind.',
  },
  WEBHOOK_REFUSED: {
    statuses: [502],
    meaning: 'The webhook answered, and said no to the control plane.',
    remedy: 'The message says why; where it names a code of the webhook, svault explain knows that too.',
  },
  WEBHOOK_UNAVAILABLE: {
    statuses: [503, 502],
    mcpTool: true,
    meaning:
      'The webhook does not answer, or its answers cost more than one account may cost. A proxy says it with 502, everything else with 503.',
    remedy:
      'See whether it runs and can be reached: svault webhook status. Taking it away is the kill switch.',
  },
} as const satisfies Readonly<Record<string, ErrorDescription>>;

export type ControlPlaneErrorCode = keyof typeof CONTROL_PLANE_ERRORS;
