import { createCounterStore } from '../../src/limits/counter-store.ts';
import { limiterContract } from './limiter-contract.ts';
import { createProcessLimiter } from '../../src/limits/process-limiter.ts';

limiterContract('the process limiter', (limits, clock) =>
  createProcessLimiter({ limits, store: createCounterStore(), clock }),
);
