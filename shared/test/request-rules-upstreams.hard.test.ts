import { describe } from 'vitest';
import { upstreamTests } from './request-rules-upstreams/upstream-tests.ts';

describe('1,000,000 requests at the edge of request rules', () => {
  upstreamTests({ requests: 1_000_000, seed: 2 });
});
