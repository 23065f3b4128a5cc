import { expectEqual } from './demo-narrator.ts';
import type { Pair } from './pair.ts';

/** The demo's agent: what it can ask the control plane with its key and nothing else. */
export interface DemoAgent {
  /** Makes it at the control plane; before that it has neither id nor key. */
  make(): Promise<string>;
  id(): string;
  ask(serviceName: string, redirect?: Redirect): Promise<Response>;
  /** The credential's text, by way of the 307. */
  fetch(serviceName: string): Promise<string>;
  /** The credential's text, by way of the address that the MCP tool gives in its place. */
  fetchByTool(serviceName: string): Promise<string>;
  /** @throws Error when the answer is another one; @returns status and code for the narrator */
  refused(serviceName: string, status: number, code: string): Promise<string>;
  countGrants(): Promise<number>;
}

/** Whether to go on to the webhook, or to look at the 307 itself. */
type Redirect = 'follow' | 'manual';

const PATH = '/api/agents/credentials';
const MCP_PATH = '/api/agents/mcp';

const accessTokenIn = async (answer: Response): Promise<string> =>
  ((await answer.json()) as { token: { accessToken: string } }).token.accessToken;

export function demoAgent({ admin, controlPlaneUrl }: Pick<Pair, 'admin' | 'controlPlaneUrl'>): DemoAgent {
  let made = { id: '', key: '' };
  const get = (path: string, redirect: Redirect): Promise<Response> =>
    fetch(controlPlaneUrl + path, { headers: { authorization: `Bearer ${made.key}` }, redirect });
  const ask: DemoAgent['ask'] = (serviceName, redirect = 'follow') =>
    get(`${PATH}?service=${serviceName}`, redirect);
  return {
    make: async () => {
      const answer = await admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', {
        name: 'demo',
        mcpEnabled: true,
      });
      made = { id: answer.agent.id, key: answer.apiKey };
      return made.id;
    },
    id: () => made.id,
    ask,
    fetch: async (serviceName) => accessTokenIn(await ask(serviceName)),
    fetchByTool: async (service) => {
      const params = { name: 'get_credential', arguments: { service } };
      const answer = await fetch(controlPlaneUrl + MCP_PATH, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${made.key}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      });
      const text = await answer.text();
      const { result } = JSON.parse(text) as { result: { structuredContent: { credentialUrl: string } } };
      const accessToken = await accessTokenIn(await fetch(result.structuredContent.credentialUrl));
      expectEqual("whether the tool's result holds the credential", text.includes(accessToken), false);
      return accessToken;
    },
    refused: async (serviceName, status, code) => {
      const answer = await ask(serviceName);
      const answered = `${answer.status} ${((await answer.json()) as { code: string }).code}`;
      expectEqual('the answer', answered, `${status} ${code}`);
      return answered;
    },
    countGrants: async () =>
      ((await (await get(PATH, 'follow')).json()) as { grants: readonly unknown[] }).grants.length,
  };
}
