import { type DemoOutside, startOutside } from '../../../src/demo-outside.ts';
import { type PairInContainers, startPairInContainers } from './pair-in-containers.ts';

export interface PairAndOutside extends PairInContainers {
  readonly outside: DemoOutside;
}

/** This machine, as the containers call it. */
const NAME = 'outside.test';
const OVERRIDE = `services:
  control-plane: { extra_hosts: ['${NAME}:host-gateway'] }
  webhook: { extra_hosts: ['${NAME}:host-gateway'] }
`;

/** The pair, and beside it on this machine what lies outside in real life: an MCP server, and providers of credentials. */
export async function startPairAndOutside(): Promise<PairAndOutside> {
  // The engine's gateway leads to the loopback or to another address of this machine, as it likes.
  const outside = await startOutside({ name: NAME, listen: '0.0.0.0' });
  try {
    const env = { SV_EGRESS_ALLOW: NAME, SV_AWS_STS_ENDPOINT: `${outside.url}/sts` };
    const pair = await startPairInContainers(env, OVERRIDE);
    const remove = async (): Promise<void> => {
      await pair.remove();
      await outside.stop();
    };
    return { ...pair, outside, remove };
  } catch (error) {
    await outside.stop();
    throw error;
  }
}
