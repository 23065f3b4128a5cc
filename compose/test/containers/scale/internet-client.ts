import { NODE_IMAGE } from '../engine/images.ts';
import { runContainer } from '../engine/one-container.ts';
import type { Scale } from './scale.ts';

/** A machine of somebody else in the internet, with an address of its own there. */
export interface InternetClient {
  /** Asks so many times, one after another. @returns the statuses */
  ask(times: number, request: { readonly method: string; readonly url: string } & object): Promise<number[]>;
  remove(): Promise<void>;
}

/** A claim about the caller's address in each header that a control plane might believe, another one each time. */
const ASK = `
const { times, url, body, ...init } = JSON.parse(process.argv[1]);
const statuses = [];
for (let n = 0; n < times; n += 1) {
  const claim = '198.51.100.' + n;
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': claim, 'x-real-ip': claim, 'true-client-ip': claim,
    'cf-connecting-ip': claim, forwarded: 'for=' + claim };
  const answer = await fetch(url, { ...init, headers, body: JSON.stringify(body) });
  await answer.arrayBuffer();
  statuses.push(answer.status);
}
console.log(JSON.stringify(statuses));
`;

export async function startInternetClient({ internet }: Scale): Promise<InternetClient> {
  const client = await runContainer({
    image: NODE_IMAGE,
    network: { name: internet, alias: 'client' },
    // What the certificate holds for is not looked at here.
    env: { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' },
    command: ['sleep', 'infinity'],
  });
  return {
    ask: async (times, request) => {
      const words = ['node', '--input-type=module', '-e', ASK, JSON.stringify({ times, ...request })];
      const { exitCode, output } = await client.run(...words);
      if (exitCode !== 0) throw new Error(`the client failed: ${output}`);
      return JSON.parse(output) as number[];
    },
    remove: () => client.remove(),
  };
}
