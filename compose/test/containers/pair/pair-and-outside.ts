import type { DemoOutside, LastCall } from '../../../src/demo-outside.ts';
import { NODE_IMAGE, ROOT } from '../engine/images.ts';
import { untilAnswered } from '../engine/machine.ts';
import { OWN_USER } from '../engine/one-container.ts';
import { type PairInContainers, startPairInContainers } from './pair-in-containers.ts';

export interface PairAndOutside extends PairInContainers {
  readonly outside: DemoOutside;
}

const SERVICE = `
  outside:
    image: ${NODE_IMAGE}
    command: [node, /workspace/compose/test/containers/pair/outside-server.ts]
    user: '${OWN_USER}'
    volumes: ['${ROOT}:/workspace:ro']
`;

/** One route of outside-server.ts, from inside of its container. */
const ASK = `
const [path, body] = process.argv.slice(1);
const answer = await fetch('http://127.0.0.1:8081' + path, { method: 'POST', body });
console.log(await answer.text());
`;

/** The pair, and in its network what lies outside in real life: an MCP server, and providers of credentials. */
export async function startPairAndOutside(): Promise<PairAndOutside> {
  const env = { SV_EGRESS_ALLOW: 'outside', SV_AWS_STS_ENDPOINT: 'http://outside:8080/sts' };
  const pair = await startPairInContainers(env, SERVICE);
  const ask = async (path: string, body = ''): Promise<unknown> => {
    const outside = await pair.service('outside');
    const { exitCode, output } = await outside.run('node', '--input-type=module', '-e', ASK, path, body);
    if (exitCode !== 0) throw new Error(`outside: ${output}`);
    return JSON.parse(output);
  };
  try {
    await untilAnswered('what lies outside', () => ask('/who'));
    const who = (await ask('/who')) as Pick<DemoOutside, 'url' | 'issued' | 'refreshToken'>;
    const outside: DemoOutside = {
      ...who,
      trustApp: async (publicKey) => void (await ask('/trust-app', publicKey)),
      lastCall: async () => (await ask('/last-call')) as LastCall,
      goOn: async () => void (await ask('/go-on')),
    };
    return { ...pair, outside };
  } catch (error) {
    await pair.remove();
    throw error;
  }
}
