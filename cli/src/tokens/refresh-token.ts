import { Failure } from '../failure.ts';
import type { Run } from '../invocation.ts';

export const run: Run = async () => {
  throw new Failure('failed', 'not built');
};
