import { createCounterStore } from './counter-store.ts';
import { limiterContract } from './limiter.contract.ts';
import { createProcessLimiter } from './process-limiter.ts';

limiterContract('the process limiter', (limits, clock) =>
  createProcessLimiter({ limits, store: createCounterStore(), clock }),
);
