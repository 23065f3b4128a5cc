import { describe } from 'vitest';
import { upstreamTests } from './request-rules-upstreams/upstream-tests.ts';

describe('20,000 requests at the edge of request rules', () => {
  upstreamTests({ requests: 20_000, seed: 1 });
});
