import {
  type HttpRequest,
  type RequestRules,
  type RequestVerdict,
  ambiguityText,
  requestRulesSchema,
} from '@svault/shared/request-rules';

/** What the log says of a proxied request that a `request_filter` looked at: never its query, nor a value of its body. */
export interface FilteredRequest {
  readonly method: string;
  /** Of an allowed one the pattern that it matched. */
  readonly path?: string;
  /** That it calls. */
  readonly tool?: string;
  /** Of a denied one. */
  readonly cause?: string;
}

/** What a rule says of a request. */
export interface Ruling {
  /** Undefined where the request is not known. */
  readonly allowed: boolean | undefined;
  /** Where it is denied: what of it is not allowed, and nothing of the rules. */
  readonly reason?: string;
  readonly request?: FilteredRequest;
}

export const requestFilterMembers = { requests: requestRulesSchema };

const HANDED_OUT: Ruling = {
  allowed: false,
  reason:
    'It is available through proxies only: what is done with a credential that is handed out cannot be limited.',
};
const NOT_KNOWN: Ruling = { allowed: undefined };

/**
 * @param caller an agent gets the credential itself, so that no rule could hold
 * @param request what a proxy would send; undefined where it is not known
 */
export function filterRequest(
  rules: RequestRules,
  caller: 'agent' | 'proxy',
  request: HttpRequest | undefined,
): Ruling {
  if (caller === 'agent') return HANDED_OUT;
  if (request === undefined) return NOT_KNOWN;
  const { method } = request;
  const verdict = rules.decide(request);
  const called = verdict.tool !== undefined && { tool: verdict.tool };
  if (verdict.allowed) return { allowed: true, request: { method, path: verdict.path, ...called } };
  return {
    allowed: false,
    reason: reasonOf(verdict),
    request: { method, ...called, cause: verdict.reason },
  };
}

function reasonOf({ reason, tool }: Extract<RequestVerdict, { readonly allowed: false }>): string {
  if (reason !== 'rule') return ambiguityText(reason);
  return tool === undefined
    ? 'It is not available for this method and path, or this method of MCP.'
    : 'It is not available for this tool, or not with these arguments.';
}
