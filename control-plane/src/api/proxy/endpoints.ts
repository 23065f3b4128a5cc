import { type IncomingMessage, METHODS } from 'node:http';
import type { BodyBounds } from '@svault/server-kit/raw-body';
import { MCP_METHODS, isHttpMethod } from '@svault/shared';
import { PROXY_PATHS, type ProxyKind } from '../../core/proxy.ts';
import { credentialFromHeaders, proxyKeyFromHeaders } from '../http/credential-from-headers.ts';
import type { KeyTexts } from './error-responses.ts';

/** What differs between the endpoints of the two kinds of proxies. */
export interface ProxyEndpoint extends KeyTexts {
  readonly kind: ProxyKind;
  readonly methods: readonly string[];
  /** The presented key; undefined where there is none. */
  readonly keyOf: (req: IncomingMessage) => string | undefined;
  readonly coding: BodyBounds['coding'];
  /** Whether a request carries a JSON-RPC message. */
  readonly isMessage: (method: string) => boolean;
  /** The path and query below the upstream's URL, byte for byte; undefined where only the URL itself is called. */
  readonly targetOf: (req: IncomingMessage) => string | undefined;
}

/** `/api/proxy/mcp` (specification, "MCP proxy"). */
export const MCP_ENDPOINT: ProxyEndpoint = {
  kind: 'mcp',
  methods: MCP_METHODS,
  keyOf: (req) => credentialFromHeaders(req, 'x-mcp-key'),
  coding: 'none',
  isMessage: (method) => method === 'POST',
  targetOf: () => undefined,
  missingKey: 'Send the proxy key as Authorization: Bearer mcp_… or in x-mcp-key.',
  challenge: 'Bearer realm="svault"',
};

/** `/api/proxy/http` and every path below it (PROTOCOL.md section 5.8). */
export const HTTP_ENDPOINT: ProxyEndpoint = {
  kind: 'http',
  methods: METHODS.filter(isHttpMethod),
  keyOf: proxyKeyFromHeaders,
  // git compresses the bodies of its requests.
  coding: 'any',
  isMessage: () => false,
  targetOf: ({ url = '' }) => url.slice(PROXY_PATHS.http.length),
  missingKey: 'Send the proxy key as Authorization: Bearer mcp_…, as the password of Basic, or in x-mcp-key.',
  // Without it git does not ask for a user name and password (RFC 7617).
  challenge: 'Basic realm="svault"',
};
