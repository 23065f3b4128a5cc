import { afterAll, beforeAll, describe } from 'vitest';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type Pair, startPair } from '../../src/pair.ts';
import { type Target, attacksFail } from './attacks.contract.ts';
import { type HostileUpstream, startHostileUpstream } from './hostile-upstream.ts';

describe('at the pair that npm start runs', () => {
  const dir = tempDir();
  let pair: Pair;
  let upstream: HostileUpstream;
  beforeAll(async () => {
    [pair, upstream] = await Promise.all([
      startPair({ dir: dir.path }),
      startHostileUpstream('127.0.0.1', 0),
    ]);
  });
  afterAll(async () => {
    await Promise.all([pair?.stop(), upstream?.stop()]);
    dir.remove();
  });

  const target = (): Target => ({
    ...pair,
    upstreamHost: upstream.host,
  });
  attacksFail(target);
});
