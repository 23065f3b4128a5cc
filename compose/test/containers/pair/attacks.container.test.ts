import { afterAll, beforeAll, describe } from 'vitest';
import { type Target, attacksFail } from '../../attacks/attacks.contract.ts';
import { NODE_IMAGE, ROOT } from '../engine/images.ts';
import { untilAnswered } from '../engine/machine.ts';
import { OWN_USER } from '../engine/one-container.ts';
import { type PairInContainers, startPairInContainers } from './pair-in-containers.ts';

const UPSTREAM = `
  upstream:
    image: ${NODE_IMAGE}
    command: [node, /workspace/compose/test/attacks/hostile-upstream.ts]
    user: '${OWN_USER}'
    volumes: ['${ROOT}:/workspace:ro']
`;

describe('at the pair in containers', () => {
  let pair: PairInContainers;
  beforeAll(async () => {
    pair = await startPairInContainers({ SV_EGRESS_ALLOW: 'upstream' }, UPSTREAM);
    await untilAnswered('the upstream', async () => {
      const { exitCode } = await (
        await pair.service('upstream')
      ).run(
        'node',
        '-e',
        "require('net').connect(8080).once('error', () => process.exit(1)).once('connect', () => process.exit(0))",
      );
      if (exitCode !== 0) throw new Error('it does not listen yet');
    });
  });
  afterAll(() => pair?.remove());

  const target = (): Target => ({
    ...pair,
    upstreamHost: 'upstream:8080',
  });
  attacksFail(target);
});
