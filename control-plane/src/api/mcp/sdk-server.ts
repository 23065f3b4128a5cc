import {
  type CallToolResult,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type JSONRPCResultResponse,
  PerRequestHTTPServerTransport,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerOptions,
  type Tool as ToolDefinition,
  UrlElicitationRequiredError,
  inputRequired,
} from '@modelcontextprotocol/server';
import { errorBody } from '../http/json-rpc.ts';
import { STATELESS_REVISION, type Served } from './classify-message.ts';
import { withRequestId } from './tool.ts';
import type { UrlElicitation } from './url-elicitation.ts';

/** The SDK's response, and the HTTP status that the revision of the request wants for it. */
interface SdkResponse {
  readonly status: number;
  readonly body: string;
}

/**
 * Responds to a request in the protocol.
 *
 * @param result of the tool that the request calls, or a page that its client opens first; undefined for every other request
 * @param about.requestId given with an error
 * @param about.accessRequests whether the caller may ask for grants
 */
export type RespondInProtocol = (
  served: Served,
  result: CallToolResult | UrlElicitation | undefined,
  about: { readonly requestId: string; readonly accessRequests: boolean },
) => Promise<SdkResponse>;

const INSTRUCTIONS =
  'This server gives addresses of credentials that their owner has granted to you. list_credentials tells for which services; ' +
  'get_credential gives an address that can be fetched once by HTTP GET. Never log, store or repeat a credential or its address.';

const INFO = { name: 'svault', title: 'svault', version: '1' };

/** The one tool that an account switches on. */
const REQUEST_ACCESS = 'request_access';

/** A tool list changes with a release, and where the account lets agents ask for grants; the caller alone may cache it. */
const LIST_CACHE = { ttlMs: 3_600_000, cacheScope: 'private' } as const;

/**
 * The SDK's low-level server behind the front: it knows the revisions, and nothing of agents. One server and one transport
 * for each request, so that no response can reach another caller; the shared parts are made here, once.
 */
export function createSdkServer(definitions: readonly ToolDefinition[]): RespondInProtocol {
  const shared: ServerOptions = {
    capabilities: { tools: {} },
    instructions: INSTRUCTIONS,
    cacheHints: { 'tools/list': LIST_CACHE, 'server/discover': LIST_CACHE },
    // For elicitation, which is never used here; building the default validator would be most of a server's cost.
    jsonSchemaValidator: { getValidator: rejectValidator },
  };
  const stateless: ServerOptions = { ...shared, supportedProtocolVersions: [STATELESS_REVISION] };
  const listing = { tools: [...definitions] };
  const withoutRequests = { tools: definitions.filter(({ name }) => name !== REQUEST_ACCESS) };

  return async ({ request, classification }, result, { requestId, accessRequests }) => {
    // oxlint-disable-next-line typescript/no-deprecated -- of the high-level class bad arguments are -32602, and not a result
    const server = new Server(INFO, classification === undefined ? shared : stateless);
    server.setRequestHandler('tools/list', () => (accessRequests ? listing : withoutRequests));
    server.setRequestHandler('tools/call', () => {
      if (result === undefined) throw unknownTool();
      if (!('elicitationId' in result)) return withRequestId(result, requestId);
      const page = result as UrlElicitation;
      if (classification === undefined)
        throw new UrlElicitationRequiredError([{ mode: 'url', ...page }], page.message);
      const { url, message } = page;
      return inputRequired({ inputRequests: { approval: inputRequired.elicitUrl({ url, message }) } });
    });
    const exchange = new Exchange({ classification: classification ?? { era: 'legacy' } });
    await server.connect(exchange);
    const response = await exchange.ask(request, classification && { classification });
    const status = statusOf(response, classification !== undefined);
    if (!('error' in response)) return { status, body: JSON.stringify(response) };
    return { status, body: errorBody(response.id ?? null, response.error, requestId) };
  };
}

type SdkMessage = JSONRPCResultResponse | JSONRPCErrorResponse;

/**
 * The SDK's transport of one request, without the web `Response` that it would build and take apart
 * again: that costs as much as all the rest.
 */
class Exchange extends PerRequestHTTPServerTransport {
  #settle: ((response: SdkMessage) => void) | undefined;

  ask(
    request: JSONRPCRequest,
    extra: Parameters<NonNullable<Exchange['onmessage']>>[1],
  ): Promise<SdkMessage> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.onmessage?.(request, extra);
    });
  }

  /** Messages before the response have no place in one JSON document; our server sends none. */
  override send(message: JSONRPCMessage): Promise<void> {
    if (!('method' in message)) this.#settle?.(message);
    return Promise.resolve();
  }
}

/** Revision 2026-07-28 wants 404 for a method that the server has not; the older ones know only the JSON-RPC error. */
function statusOf(response: SdkMessage, isStateless: boolean): number {
  const isUnknown =
    'error' in response && response.error.code === (ProtocolErrorCode.MethodNotFound as number);
  return isUnknown && isStateless ? 404 : 200;
}

const unknownTool = (): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown tool; tools/list gives those there are');

function rejectValidator(): never {
  throw new Error('nothing is asked of users here');
}
