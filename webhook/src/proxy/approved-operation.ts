import { coveredFields, requestDigest } from '@svault/shared/request-digest';
import { compileRequestRules } from '@svault/shared/request-rules';
import type { ProxyConfig } from '@svault/shared/schemas';
import type { AskedCall } from '../approvals/ask.ts';
import type { Approvable } from '../approvals/match.ts';
import { ApiError } from '../errors.ts';
import {
  type RequestedCall,
  destinationNotAllowed,
  mustAllowCall,
  requestHead,
  requestNotAllowed,
} from './allow-call.ts';
import type { ProxyConfigs } from './proxy-configs.ts';

/** A call whose body may be known by its digest alone. */
type ApprovableCall = Omit<RequestedCall, 'body'> & {
  readonly body: Uint8Array | string;
};

/** What the approval of a call covers. */
interface CoveredCall extends Approvable {
  /** Undefined where there is nothing but its digest. */
  readonly body: Uint8Array | undefined;
}

/**
 * What a person decides on of a call (PROTOCOL.md section 5.10): the request as the upstream would get it, the markers of
 * templates not replaced, so that a proxy that is changed meanwhile makes another one of it.
 *
 * @param isMcp whether the record's owner said that a server of MCP is there: the control plane, which configures proxies,
 *   could say so of any address, and a message of MCP is not covered whole (PROTOCOL.md APR-18, APR-19)
 * @returns undefined for the messages without which no client gets as far as a call
 * @throws ApiError REQUEST_NOT_ALLOWED for a message with two readings
 */
export function approvedOperation(
  call: ApprovableCall,
  config: ProxyConfig,
  isMcp: boolean,
): CoveredCall | undefined {
  const { ticket, body } = call;
  const head = requestHead(call, config);
  const { origin, method, target, fields } = head;
  const kind = isMcp ? (config.kind ?? 'mcp') : 'http';
  const read = requestDigest({ kind, method, fields, body });
  if ('ambiguity' in read) throw requestNotAllowed({ cause: read.ambiguity }, config);
  if (read.isHandshake === true) return undefined;
  const { digest, mcp, tool } = read;
  const url = `${origin.origin}${target}`;
  const isAtHand = typeof body !== 'string';
  return {
    operation: { type: 'proxy', proxyId: ticket.prx, method, url, mcp, tool, digest },
    mayStand:
      (isAtHand || config.kind === 'http') && hasOneReading({ ...head, body: isAtHand ? body : NO_BODY }),
    body: read.coveredBody,
  };
}

const NO_BODY = new Uint8Array();
const NO_RULES = compileRequestRules([]);

/** An allowance is for a method and a path, so that it must not cover a request that names others besides. */
function hasOneReading(request: Parameters<typeof NO_RULES.decide>[0]): boolean {
  const verdict = NO_RULES.decide(request);
  return verdict.allowed || verdict.reason === 'rule';
}

/**
 * The call that is asked about, as far as it could be made: nothing is put before a person that would be refused anyway.
 *
 * @throws from the returned function, ApiError NOT_FOUND, DESTINATION_NOT_ALLOWED, REQUEST_NOT_ALLOWED
 */
export function createAskedCall({
  proxyConfigs,
}: {
  readonly proxyConfigs: Pick<ProxyConfigs, 'get'>;
}): AskedCall {
  return (
    { serviceName, settings },
    { proxyId, method, target, fields = [], body: encoded = '', bodyDigest },
  ) => {
    const config = proxyConfigs.get(proxyId);
    if (config === undefined) throw new ApiError('NOT_FOUND', 'there is no proxy of that id');
    if (config.serviceName !== serviceName) throw destinationNotAllowed({ cause: 'service' }, config);
    const bytes = encoded === '' ? NO_BODY : Buffer.from(encoded, 'base64');
    const call = { ticket: { htm: method, prx: proxyId }, target, fields, body: bytes };
    // Rules read a body, so that those of a request whose body is not at hand wait for its use.
    const { requests, ...others } = settings;
    const known = bodyDigest === undefined ? { requests, ...others } : others;
    const { sent, isMcp } = mustAllowCall(call, config, { settings: known });
    const body = bodyDigest ?? sent.body;
    const asked = approvedOperation({ ...call, ...sent, body }, config, isMcp);
    return asked && { ...asked, fields: coveredFields(requestHead({ ...call, ...sent }, config).fields) };
  };
}
