import { randomToken } from '@svault/shared';
import type { Answer, Ask, Book, Fate } from './book.ts';
import type { ProxyCaller, Reader, World } from './world.ts';

/** What one round of a writer left behind. A change that it did not come to is `refused`. */
export interface Written {
  /** Of the agent, and of its control plane. */
  readonly name: string;
  agentId: string;
  readonly changes: Record<Change, Fate>;
  /** What may be stored: the last value that was taken, and later ones of which nobody said whether they were. */
  values: readonly string[];
}

export type Change = 'agent' | 'token' | 'store' | 'replace' | 'grant' | 'revoke' | 'suspend';

const NOTHING: Readonly<Record<Change, Fate>> = {
  agent: 'refused',
  token: 'refused',
  store: 'refused',
  replace: 'refused',
  grant: 'refused',
  revoke: 'refused',
  suspend: 'refused',
};

/** One access: by an agent or through a proxy. */
export interface Access {
  /** The id that the log has. */
  readonly by: string;
  readonly fate: Fate;
  readonly sentAt: number;
  readonly answeredAt: number;
  /** What the upstream knows it by. */
  readonly callId?: string;
}

interface Client {
  readonly world: World;
  readonly book: Book;
  readonly ask: Ask;
}

const JSON_BODY = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}`, ...JSON_BODY });
const post = (headers: Record<string, string>, body?: object): RequestInit => ({
  method: 'POST',
  headers,
  ...(body && { body: JSON.stringify(body) }),
});

/** A credential by REST: the control plane's 307, then the webhook's answer. */
async function read(
  { world, book, ask }: Client,
  { reader, serviceName, isOneOf }: { reader: Reader; serviceName: string; isOneOf: readonly string[] },
): Promise<Answer> {
  const answer = await ask({
    what: `GET ${serviceName}`,
    url: `${world.scale.url}/api/agents/credentials?service=${serviceName}`,
    // The header that proxies do not know for a secret.
    init: { headers: { 'x-agent-key': reader.apiKey } },
    expect: [307],
  });
  if (answer.fate === 'done') await deliver({ book, ask }, answer.location, isOneOf);
  return answer;
}

/** The same by MCP: the tool's address, then the webhook's answer. */
async function readByTool(
  { world, book, ask }: Client,
  { reader, serviceName, isOneOf }: { reader: Reader; serviceName: string; isOneOf: readonly string[] },
): Promise<Answer> {
  const params = { name: 'get_credential', arguments: { service: serviceName } };
  const answer = await ask({
    what: `get_credential ${serviceName}`,
    url: `${world.scale.url}/api/agents/mcp`,
    init: post(bearer(reader.apiKey), { jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    expect: [200],
  });
  if (answer.fate !== 'done') return answer;
  const { result } = JSON.parse(answer.text) as {
    result?: { structuredContent?: { credentialUrl?: string; code?: string }; isError?: boolean };
  };
  const url = result?.structuredContent?.credentialUrl;
  if (url !== undefined) await deliver({ book, ask }, url, isOneOf);
  else if (!answer.text.includes('UNAVAILABLE')) book.wrong.push(`get_credential said ${answer.text}`);
  return { ...answer, fate: url === undefined ? 'unknown' : 'done' };
}

async function deliver(
  { book, ask }: Pick<Client, 'book' | 'ask'>,
  url: string,
  isOneOf: readonly string[],
): Promise<void> {
  const { fate, text } = await ask({ what: 'the 307', url, of: 'webhook', expect: [200] });
  if (fate !== 'done') return;
  const { token } = JSON.parse(text) as { token: { accessToken: string } };
  if (!isOneOf.includes(token.accessToken)) book.wrong.push('another credential than the stored one came');
}

/** Fetches the credential of the world, by REST and by MCP in turn. */
export async function readOn(
  client: Client,
  reader: Reader,
  note: (access: Access) => void,
  isOver: () => boolean,
) {
  const { serviceName, value } = client.world;
  for (let turn = 0; !isOver(); turn++) {
    const way = turn % 2 === 0 ? read : readByTool;
    const { fate, sentAt, answeredAt } = await way(client, { reader, serviceName, isOneOf: [value] });
    note({ by: reader.agentId, fate, sentAt, answeredAt });
  }
}

/** Calls the upstream through a proxy. */
export async function callOn(
  { world, book, ask }: Client,
  { proxyId, key }: ProxyCaller,
  note: (access: Access) => void,
  isOver: () => boolean,
) {
  while (!isOver()) {
    const callId = randomToken();
    const { fate, text, sentAt, answeredAt } = await ask({
      what: 'a call through a proxy',
      url: `${world.scale.url}/api/proxy/mcp`,
      init: post(
        { 'x-mcp-key': key, ...JSON_BODY },
        { jsonrpc: '2.0', id: callId, method: 'tools/call', params: {} },
      ),
      expect: [200],
    });
    if (fate === 'done' && text !== JSON.stringify({ jsonrpc: '2.0', id: callId, result: { said: callId } }))
      book.wrong.push(`a proxy's client was answered ${text}`);
    note({ by: proxyId, fate, sentAt, answeredAt, callId });
  }
}

/** One agent and one credential from their beginning, up to where something was not answered. */
export async function writeOnce(client: Client, name: string, turn: number): Promise<Written> {
  const { world, book, ask } = client;
  const { url, adminKey } = world.scale;
  const written: Written = { name, agentId: '', changes: { ...NOTHING }, values: [] };
  const change = async (
    kind: Change,
    [method, path]: readonly [string, string],
    body?: object,
  ): Promise<Answer | undefined> => {
    const answer = await ask({
      what: `${kind} ${name}`,
      url: url + path,
      init: { method, headers: bearer(adminKey), ...(body && { body: JSON.stringify(body) }) },
      expect: [200, 201, 204],
    });
    written.changes[kind] = answer.fate;
    return answer.fate === 'done' ? answer : undefined;
  };
  const store = async (kind: 'store' | 'replace', ticketText: string): Promise<boolean> => {
    const { store: place, ...rest } = JSON.parse(ticketText) as StoreAnswer;
    const { url: at, ticket } = place ?? rest;
    const value = `secret-${randomToken()}`;
    book.secrets.add(value).add(ticket);
    const { fate } = await ask({
      what: `${kind} ${name}`,
      url: at,
      of: 'webhook',
      init: post(bearer(ticket), { tokenType: 'PlainText', value }),
      expect: [200, 201, 204],
    });
    written.changes[kind] = fate;
    if (fate === 'done') written.values = [value];
    if (fate === 'unknown') written.values = [...written.values, value];
    return fate === 'done';
  };

  const made = await change('agent', ['POST', '/api/agents'], { name, mcpEnabled: true });
  if (made === undefined) return written;
  const { agent, apiKey } = JSON.parse(made.text) as { agent: { id: string }; apiKey: string };
  written.agentId = agent.id;
  book.secrets.add(apiKey);
  const named = await change('token', ['POST', '/api/tokens'], { serviceName: name, tokenType: 'PlainText' });
  if (named === undefined || !(await store('store', named.text))) return written;
  const grants = `/api/agents/${agent.id}/grants`;
  if ((await change('grant', ['POST', grants], { serviceName: name })) === undefined) return written;
  const reader = { agentId: agent.id, apiKey };
  const ways = [read, readByTool];
  for (const way of ways) await way(client, { reader, serviceName: name, isOneOf: written.values });
  if (turn % 2 === 0) {
    const ticket = await ask({
      what: `store-ticket ${name}`,
      url: `${url}/api/tokens/${name}/store-ticket`,
      init: post(bearer(adminKey), {}),
      expect: [200, 201],
    });
    if (ticket.fate !== 'done' || !(await store('replace', ticket.text))) return written;
  }
  const [kind, path, status]: readonly ['revoke' | 'suspend', readonly [string, string], number] =
    turn % 3 === 0
      ? ['suspend', ['POST', `/api/agents/${agent.id}/suspend`], 403]
      : ['revoke', ['DELETE', `${grants}/${name}`], 404];
  if (turn % 4 !== 3 && (await change(kind, path)) !== undefined)
    await ask({
      what: `GET ${name} after ${kind}`,
      url: `${url}/api/agents/credentials?service=${name}`,
      init: { headers: { 'x-agent-key': apiKey } },
      expect: [status],
    });
  return written;
}

type StoreAnswer = { readonly url: string; readonly ticket: string } & {
  readonly store?: { readonly url: string; readonly ticket: string };
};
