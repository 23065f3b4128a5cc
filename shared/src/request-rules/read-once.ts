import { type HttpRequest, type ReadRequest, readRequest } from './http-request.ts';
import { type McpMessage, readMcpMessage } from './mcp-message.ts';

/** A request that is read once, however many lists of rules decide on it. */
export class ReadOnce implements HttpRequest {
  readonly origin;
  readonly method;
  readonly target;
  readonly fields;
  readonly body;
  #head: ReadRequest | undefined;
  #message: McpMessage | undefined;

  constructor({ origin, method, target, fields, body }: HttpRequest) {
    this.origin = origin;
    this.method = method;
    this.target = target;
    this.fields = fields;
    this.body = body;
  }

  /** @throws AmbiguousRequest */
  get head(): ReadRequest {
    return (this.#head ??= readRequest(this));
  }

  /** What its body asks of a server of MCP. @throws AmbiguousRequest */
  get message(): McpMessage {
    return (this.#message ??= readMcpMessage(this.head.fields, this.body));
  }
}
