import { createBoundedTally } from './bounded-tally.ts';
import { limiterContract } from './limiter.contract.ts';
import { createProcessLimiter } from './process-limiter.ts';

limiterContract('the process', (limits, clock) => ({
  limiter: createProcessLimiter({ limits, tally: createBoundedTally(), clock }),
  close: () => {},
}));
