import type { IncomingMessage } from 'node:http';
import type { JSONRPCRequest } from '@modelcontextprotocol/server';

/** What a client of 2026-07-28 mirrors into headers, so that what stands in front of us need not read the body. */
export interface StandardHeaders {
  readonly version: string | undefined;
  readonly method: string | undefined;
  readonly name: string | undefined;
}

export const standardHeaders = ({ headers }: IncomingMessage): StandardHeaders => ({
  version: sole(headers['mcp-protocol-version']),
  method: sole(headers['mcp-method']),
  name: sole(headers['mcp-name']),
});

/** Node joins repeated headers of these names by a comma, which none of the values has. */
const sole = (value: string | string[] | undefined): string | undefined => value?.toString();

/**
 * Revision 2026-07-28, "Standard request headers": a request's headers are there and say what its body says. The SDK's
 * classifier compares those that are there; the rest of the rule is with the part of the SDK that is not used here.
 *
 * @returns what does not fit, in words; undefined where all does
 */
export function contradiction(
  { version, method, name }: StandardHeaders,
  request: JSONRPCRequest,
): string | undefined {
  if (version === undefined) return 'the MCP-Protocol-Version header is missing';
  if (method === undefined) return 'the Mcp-Method header is missing';
  const named = request.method === 'tools/call' ? request.params?.['name'] : undefined;
  if (typeof named !== 'string') return undefined;
  if (name === undefined) return 'the Mcp-Name header is missing';
  return decodeHeader(name) === named ? undefined : 'the Mcp-Name header does not name the tool of the body';
}

/** Values that a header cannot carry come as `=?base64?…?=`. @returns undefined where that holds no base64 */
function decodeHeader(value: string): string | undefined {
  const encoded = /^=\?base64\?(.*)\?=$/s.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded ? bytes.toString() : undefined;
}
