import { expectEqual } from './demo-narrator.ts';
import type { Pair } from './pair.ts';

/** Whether to go on to the webhook, or to look at the 307 itself. */
type Redirect = 'follow' | 'manual';

const PATH = '/api/agents/credentials';
const MCP_PATH = '/api/agents/mcp';

const accessTokenIn = async (answer: Response): Promise<string> =>
  ((await answer.json()) as { token: { accessToken: string } }).token.accessToken;

/** An agent of the demo: what it can ask the control plane with its key and nothing else. */
export function demoAgent(
  { admin, controlPlaneUrl }: Pick<Pair, 'admin' | 'controlPlaneUrl'>,
  settings: { readonly name: string; readonly description?: string },
) {
  let made = { id: '', key: '' };
  const get = (path: string, redirect: Redirect): Promise<Response> =>
    fetch(controlPlaneUrl + path, { headers: { authorization: `Bearer ${made.key}` }, redirect });
  const ask = (serviceName: string, redirect: Redirect = 'follow'): Promise<Response> =>
    get(`${PATH}?service=${serviceName}`, redirect);
  return {
    /** Before that it has neither id nor key. */
    make: async (): Promise<string> => {
      const answer = await admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', {
        ...settings,
        mcpEnabled: true,
      });
      made = { id: answer.agent.id, key: answer.apiKey };
      return made.id;
    },
    id: (): string => made.id,
    ask,
    /** The credential's text, by way of the 307. */
    fetch: async (serviceName: string): Promise<string> => accessTokenIn(await ask(serviceName)),
    /** The same, by way of the address that the MCP tool gives in its place. */
    fetchByTool: async (service: string): Promise<string> => {
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
    /** @throws Error when the answer is another one; @returns status and code for the narrator */
    refused: async (serviceName: string, status: number, code: string): Promise<string> => {
      const answer = await ask(serviceName);
      const answered = `${answer.status} ${((await answer.json()) as { code: string }).code}`;
      expectEqual('the answer', answered, `${status} ${code}`);
      return answered;
    },
    countGrants: async (): Promise<number> =>
      ((await (await get(PATH, 'follow')).json()) as { grants: readonly unknown[] }).grants.length,
  };
}
