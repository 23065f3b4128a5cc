import { byHand, type AnswerByHand } from './http-by-hand.ts';
import { type Answer, type Call, clientOf } from './management-service.ts';
import { uniqueName } from './unique-name.ts';

export const PROXY = '/api/proxy/mcp';

/** A proxy of a running service, and its callers' view of it. */
export interface TestProxy {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly address: string;
  /** Sends one JSON-RPC request. */
  send(method: string, params?: object, id?: unknown): Promise<Answer>;
  /** Sends anything. */
  call(method: string, options?: Parameters<Call>[2]): Promise<Answer>;
}

export const message = (method: string, params?: object, id?: unknown): object => ({
  jsonrpc: '2.0',
  ...(id !== undefined && { id }),
  method,
  ...(params !== undefined && { params }),
});

interface ProxyOwner {
  readonly running: { readonly url: string };
  readonly admin: Call;
}

/** Makes a proxy; of the credential `github` unless said otherwise. */
export async function proxyOn({ running, admin }: ProxyOwner, settings: object = {}): Promise<TestProxy> {
  const body = {
    name: uniqueName('p'),
    upstreamUrl: 'https://mcp.example.com/mcp',
    serviceName: 'github',
    allowMissing: true,
    ...settings,
  };
  const made = await admin('POST', '/api/proxies', { body });
  if (made.status !== 201) throw new Error(`no proxy was made: ${made.status} ${made.text}`);
  const { proxy, key } = made.json as {
    proxy: { id: string; name: string; address: string };
    key: string;
  };
  const client = clientOf(running.url, { authorization: `Bearer ${key}` });
  const call: TestProxy['call'] = (method, options) => client(method, PROXY, options);
  const send: TestProxy['send'] = (method, params, id = 1) =>
    call('POST', { body: message(method, params, id) });
  return { ...proxy, key, send, call };
}

/** What `sv_session` proxies have instead of a credential. */
export const sessionSettings = (agentId: string, upstreamUrl: string): object => ({
  upstreamAuthType: 'sv_session',
  serviceName: undefined,
  agentId,
  upstreamUrl,
});

/** With headers that `fetch` does not send. */
export const proxyByHand = (url: string, options: Parameters<typeof byHand>[1]): Promise<AnswerByHand> =>
  byHand(url + PROXY, options);

/** Status and code of a denial in either shape. */
export const codeOf = ({ status, json }: Answer): readonly unknown[] => [
  status,
  json?.error?.data?.code ?? json?.code,
];
