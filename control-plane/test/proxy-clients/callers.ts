import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type Door, type WatchedFetch, watchedFetch } from './door.ts';

const INFO = { name: 'somebody else’s client', version: '1.0.0' };
const CAPABILITIES = { sampling: {}, roots: {} };
/** A cut connection is taken up again at once. */
const RECONNECTION = {
  initialReconnectionDelay: 5,
  maxReconnectionDelay: 5,
  reconnectionDelayGrowFactor: 1,
  // An upstream refuses a second stream until it has seen that the first is gone.
  maxRetries: 1_000,
};

export interface ToolOptions {
  readonly onProgress?: (progress: unknown) => void;
  readonly signal?: AbortSignal;
}

/** A connected client of one of the SDKs. */
export interface Caller {
  readonly watched: WatchedFetch;
  /** That it did not wait for, in the order in which they came. */
  readonly notifications: unknown[];
  readonly errors: string[];
  sessionId(): string | undefined;
  hello(): unknown;
  ping(): Promise<unknown>;
  listTools(): Promise<unknown>;
  listResources(): Promise<unknown>;
  listResourceTemplates(): Promise<unknown>;
  listPrompts(): Promise<unknown>;
  readResource(uri: string): Promise<unknown>;
  getPrompt(name: string, args: Record<string, string>): Promise<unknown>;
  callTool(name: string, args?: Record<string, unknown>, options?: ToolOptions): Promise<unknown>;
  /** DELETE. */
  endSession(): Promise<void>;
  close(): Promise<void>;
}

export type ConnectCaller = (door: Door) => Promise<Caller>;

/** What clients answer to `sampling/createMessage` and `roots/list`. */
const answerServer = ({ method }: { method: string }): Promise<Record<string, unknown>> =>
  Promise.resolve(
    method === 'roots/list'
      ? { roots: [{ uri: 'file:///home', name: 'home' }] }
      : { model: 'none', role: 'assistant', content: { type: 'text', text: 'forty-two' } },
  );

const optionsOf = (fetchWatched: typeof fetch, bearer: string) => ({
  fetch: fetchWatched,
  requestInit: { headers: { authorization: `Bearer ${bearer}` } },
  reconnectionOptions: RECONNECTION,
});

/** What both SDKs name alike. */
function callerOf(
  client: ClientV1 | ClientV2,
  transport: TransportV1 | TransportV2,
  { watched, version }: { readonly watched: WatchedFetch; readonly version: () => string | undefined },
): Omit<Caller, 'callTool'> {
  const [notifications, errors]: [unknown[], string[]] = [[], []];
  client.fallbackNotificationHandler = (notification: unknown) =>
    Promise.resolve(void notifications.push(notification));
  client.fallbackRequestHandler = answerServer;
  client.onerror = (error) => void errors.push(error.message);
  return {
    watched,
    notifications,
    errors,
    sessionId: () => transport.sessionId,
    hello: () => ({
      version: version(),
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    }),
    ping: () => client.ping(),
    listTools: () => client.listTools(),
    listResources: () => client.listResources(),
    listResourceTemplates: () => client.listResourceTemplates(),
    listPrompts: () => client.listPrompts(),
    readResource: (uri) => client.readResource({ uri }),
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
    endSession: () => transport.terminateSession(),
    close: () => client.close(),
  };
}

const toolOptions = ({ onProgress, signal }: ToolOptions = {}) => ({
  ...(onProgress !== undefined && { onprogress: onProgress }),
  ...(signal !== undefined && { signal }),
});

export const v1: ConnectCaller = async ({ url, bearer }) => {
  const watched = watchedFetch();
  const transport = new TransportV1(new URL(url), optionsOf(watched.fetch, bearer));
  const client = new ClientV1(INFO, { capabilities: CAPABILITIES });
  const caller = callerOf(client, transport, { watched, version: () => transport.protocolVersion });
  await client.connect(transport);
  const callTool: Caller['callTool'] = (name, args = {}, options) =>
    client.callTool({ name, arguments: args }, undefined, toolOptions(options));
  return { ...caller, callTool };
};

export const v2 =
  (mode: VersionNegotiationMode): ConnectCaller =>
  async ({ url, bearer }) => {
    const watched = watchedFetch();
    const transport = new TransportV2(new URL(url), optionsOf(watched.fetch, bearer));
    const client = new ClientV2(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode } });
    const version = () => client.getNegotiatedProtocolVersion();
    const caller = callerOf(client, transport, { watched, version });
    await client.connect(transport);
    const callTool: Caller['callTool'] = (name, args = {}, options) =>
      client.callTool({ name, arguments: args }, toolOptions(options));
    return { ...caller, callTool };
  };
