import {
  type InboundClassificationOutcome,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  classifyInboundRequest,
  isJSONRPCRequest,
} from '@modelcontextprotocol/server';
import type { StandardHeaders } from './standard-headers.ts';

/**
 * Which era of the protocol a message is in, as the SDK tells it. By far most messages are requests of a revision with a
 * handshake, which need no look at what else they could be: that costs as much as a third of the answer.
 */
export function routeOf(message: unknown, headers: StandardHeaders): InboundClassificationOutcome {
  return (
    handshakeRoute(message, headers) ??
    classifyInboundRequest({
      httpMethod: 'POST',
      body: message,
      ...(headers.version !== undefined && { protocolVersionHeader: headers.version }),
      ...(headers.method !== undefined && { mcpMethodHeader: headers.method }),
    })
  );
}

/** @returns undefined where the SDK has to tell */
function handshakeRoute(
  message: unknown,
  { version }: StandardHeaders,
): InboundClassificationOutcome | undefined {
  const isOfEra = version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version);
  if (!isOfEra || !isJSONRPCRequest(message)) return undefined;
  const meta = message.params?.['_meta'];
  if (typeof meta === 'object' && meta !== null && PROTOCOL_VERSION_META_KEY in meta) return undefined;
  return {
    kind: 'legacy',
    reason: message.method === 'initialize' ? 'initialize' : 'no-claim',
    ...(version !== undefined && { requestedVersion: version }),
  };
}
