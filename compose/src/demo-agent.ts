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
  /** @throws Error when the answer is another one; @returns status and code for the narrator */
  refused(serviceName: string, status: number, code: string): Promise<string>;
  countGrants(): Promise<number>;
}

/** Whether to go on to the webhook, or to look at the 307 itself. */
type Redirect = 'follow' | 'manual';

const PATH = '/api/agents/credentials';

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
      });
      made = { id: answer.agent.id, key: answer.apiKey };
      return made.id;
    },
    id: () => made.id,
    ask,
    fetch: async (serviceName) => {
      const answer = await ask(serviceName);
      return ((await answer.json()) as { token: { accessToken: string } }).token.accessToken;
    },
    refused: async (serviceName, status, code) => {
      const answer = await ask(serviceName);
      const told = `${answer.status} ${((await answer.json()) as { code: string }).code}`;
      expectEqual('the answer', told, `${status} ${code}`);
      return told;
    },
    countGrants: async () =>
      ((await (await get(PATH, 'follow')).json()) as { grants: readonly unknown[] }).grants.length,
  };
}
